#include "chimera/comm/transport.h"

#include <algorithm>

namespace chimera {

Shard shard_of(std::size_t count, int index, int members) {
  const std::size_t grains = (count + kShardGrain - 1) / kShardGrain;
  const auto edge = [&](int member) {
    return std::min(count, grains * member / members * kShardGrain);
  };
  return {edge(index), edge(index + 1)};
}

}  // namespace chimera
