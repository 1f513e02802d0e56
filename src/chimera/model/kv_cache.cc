#include "chimera/model/kv_cache.h"

#include <ATen/ATen.h>

#include "chimera/base/check.h"

namespace chimera {
namespace {

// Stores `fresh` behind the tokens so far and returns all of them.
at::Tensor extended(at::Tensor& stored, const at::Tensor& fresh,
                    std::int64_t length, std::int64_t capacity) {
  const std::int64_t tokens = fresh.size(2);
  if (!stored.defined()) {
    std::vector<std::int64_t> sizes = fresh.sizes().vec();
    sizes[2] = capacity;
    stored = at::empty(sizes, fresh.options());
  }
  stored.narrow(2, length, tokens).copy_(fresh);
  return stored.narrow(2, 0, length + tokens);
}

}  // namespace

Projections KvCache::extend(int layer, const Projections& by_head) {
  const std::int64_t tokens = by_head.key.size(2);
  CHIMERA_CHECK(length_ == 0 || tokens == 1, "a text goes on token by token");
  CHIMERA_CHECK(length_ + tokens <= capacity_, "the cache is full");
  Pair& pair = pairs_[layer];
  return {by_head.query, extended(pair.keys, by_head.key, length_, capacity_),
          extended(pair.values, by_head.value, length_, capacity_)};
}

}  // namespace chimera
