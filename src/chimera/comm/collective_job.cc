#include "chimera/comm/collective_job.h"

#include <algorithm>
#include <cstring>

#include "chimera/base/check.h"
#include "chimera/comm/sum_tree.h"

namespace chimera {
namespace {

// 128 KiB of float32: several members' blocks fit a core's cache.
constexpr std::size_t kBlock = std::size_t{1} << 15;

}  // namespace

CollectiveJob::CollectiveJob(CollectiveId::Kind kind,
                             std::vector<NumberBuffer> buffers)
    : kind_(kind), buffers_(std::move(buffers)) {
  for (const NumberBuffer& buffer : buffers_) {
    CHIMERA_CHECK_EQ(buffer.count, buffers_[0].count);
    CHIMERA_CHECK(buffer.type == buffers_[0].type, "members differ in type");
    CHIMERA_CHECK_EQ(buffer.only_shard, buffers_[0].only_shard);
    CHIMERA_CHECK((buffer.device == nullptr) == !is_on_devices(),
                  "members differ in where their numbers are");
  }
  // On devices the whole collective is one block, queued by a single call.
  num_blocks_ = is_on_devices() ? 1 : (buffers_[0].count + kBlock - 1) / kBlock;
}

void CollectiveJob::run_block(std::size_t block) const {
  if (is_on_devices()) return buffers_[0].device->run(kind_, buffers_);
  const std::size_t begin = block * kBlock;
  const std::size_t end = std::min(begin + kBlock, buffers_[0].count);
  if (kind_ == CollectiveId::Kind::kAllGather) {
    gather(begin, end);
  } else if (buffers_[0].type == NumberType::kFloat32) {
    sum<float>(begin, end);
  } else {
    sum<double>(begin, end);
  }
}

template <class T>
void CollectiveJob::sum(std::size_t begin, std::size_t end) const {
  const auto numbers = [this](int member) {
    return static_cast<T*>(buffers_[member].data);
  };
  const int members = static_cast<int>(buffers_.size());
  for_each_join(members, [&](int into, int from) {
    T* sum = numbers(into);
    const T* more = numbers(from);
    for (std::size_t i = begin; i < end; ++i) sum[i] += more[i];
  });
  // The first member holds the whole sum, so its own buffer is cut down to its
  // shard last.
  for (int member = members - 1; member >= 0; --member) {
    const Shard mine = part_of(member, begin, end);
    std::fill(numbers(member) + begin, numbers(member) + mine.begin, T{0});
    if (member > 0) {
      std::copy(numbers(0) + mine.begin, numbers(0) + mine.end,
                numbers(member) + mine.begin);
    }
    std::fill(numbers(member) + mine.end, numbers(member) + end, T{0});
  }
}

// The part of [begin, end) that `member` receives.
Shard CollectiveJob::part_of(int member, std::size_t begin,
                             std::size_t end) const {
  if (!buffers_[0].only_shard) return {begin, end};
  const Shard own =
      shard_of(buffers_[0].count, member, static_cast<int>(buffers_.size()));
  return {std::clamp(own.begin, begin, end), std::clamp(own.end, begin, end)};
}

void CollectiveJob::gather(std::size_t begin, std::size_t end) const {
  const int members = static_cast<int>(buffers_.size());
  const std::size_t width = buffers_[0].bytes() / buffers_[0].count;
  for (int owner = 0; owner < members; ++owner) {
    const Shard shard = shard_of(buffers_[0].count, owner, members);
    const std::size_t from = std::max(begin, shard.begin);
    const std::size_t to = std::min(end, shard.end);
    if (from >= to) continue;
    const auto at = [&](int member) {
      return static_cast<std::byte*>(buffers_[member].data) + from * width;
    };
    for (int member = 0; member < members; ++member) {
      // Members that share memory need no copy.
      if (at(member) != at(owner)) {
        std::memcpy(at(member), at(owner), (to - from) * width);
      }
    }
  }
}

}  // namespace chimera
