#include "chimera/model/device_sum.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/StreamGuard.h>

#include <vector>

#include "chimera/comm/sum_tree.h"

namespace chimera {
namespace {

at::Tensor part(const at::Tensor& flat, const Shard& shard) {
  return flat.narrow(0, static_cast<std::int64_t>(shard.begin),
                     static_cast<std::int64_t>(shard.end - shard.begin));
}

}  // namespace

void DeviceSum::run(CollectiveId::Kind kind,
                    std::span<const NumberBuffer> members) {
  const at::NoGradGuard no_grad;
  std::vector<DeviceSum*> sums;
  for (const NumberBuffer& member : members) {
    auto& sum = dynamic_cast<DeviceSum&>(*member.device);
    sum.wait_for(sum);  // the rank's stream makes the numbers
    sums.push_back(&sum);
  }
  if (kind == CollectiveId::Kind::kAllGather) {
    all_gather(sums);
  } else {
    all_reduce(sums, members[0].only_shard);
  }
}

NumberBuffer DeviceSum::stage() {
  host_ = copies_.add(flat_);
  return buffer_of(host_);
}

void DeviceSum::finish() {
  if (!host_.defined()) return end_->block(compute_);
  const at::NoGradGuard no_grad;
  flat_.copy_(host_, /*non_blocking=*/true);
}

// Adds by the same tree as on the CPU, so the bits are the same.
void DeviceSum::all_reduce(std::span<DeviceSum* const> members,
                           bool only_shard) {
  const int count = static_cast<int>(members.size());
  for_each_join(count, [&](int into, int from) {
    DeviceSum& sum = *members[into];
    const c10::StreamGuard guard(sum.stream_);
    sum.wait_for(*members[from]);
    sum.flat_.add_(members[from]->flat_.to(sum.flat_.device(), true));
    sum.note_end();
  });
  const auto size = static_cast<std::size_t>(members[0]->flat_.numel());
  const auto keep_shard = [&](int index) {
    if (!only_shard) return Shard{0, size};
    DeviceSum& member = *members[index];
    const Shard mine = shard_of(size, index, count);
    part(member.flat_, {0, mine.begin}).zero_();
    part(member.flat_, {mine.end, size}).zero_();
    return mine;
  };
  for (int index = 1; index < count; ++index) {
    DeviceSum& member = *members[index];
    const c10::StreamGuard guard(member.stream_);
    member.wait_for(*members[0]);
    const Shard mine = keep_shard(index);
    part(member.flat_, mine).copy_(part(members[0]->flat_, mine), true);
    member.note_end();
  }
  // The first member may overwrite its numbers only when all others have read
  // them.
  DeviceSum& first = *members[0];
  const c10::StreamGuard guard(first.stream_);
  for (int index = 1; index < count; ++index) first.wait_for(*members[index]);
  (void)keep_shard(0);
  first.note_end();
}

void DeviceSum::all_gather(std::span<DeviceSum* const> members) {
  const int count = static_cast<int>(members.size());
  const auto size = static_cast<std::size_t>(members[0]->flat_.numel());
  const auto meet = [&] {
    for (DeviceSum* member : members) {
      for (DeviceSum* other : members) member->wait_for(*other);
    }
  };
  meet();
  for (DeviceSum* member : members) {
    const c10::StreamGuard guard(member->stream_);
    for (int owner = 0; owner < count; ++owner) {
      if (members[owner] == member) continue;
      const Shard shard = shard_of(size, owner, count);
      part(member->flat_, shard)
          .copy_(part(members[owner]->flat_, shard), true);
    }
    member->note_end();
  }
  meet();  // a shard stays until all others have read it
  for (DeviceSum* member : members) member->note_end();
}

NumberBuffer buffer_of(const at::Tensor& flat) {
  return {.data = flat.data_ptr(),
          .count = static_cast<std::size_t>(flat.numel()),
          .type = flat.scalar_type() == at::kDouble ? NumberType::kFloat64
                                                    : NumberType::kFloat32};
}

NumberBuffer buffer_of(const at::Tensor& flat,
                       const std::optional<c10::Stream>& stream) {
  NumberBuffer buffer = buffer_of(flat);
  if (stream) buffer.device = std::make_shared<DeviceSum>(flat, *stream);
  return buffer;
}

}  // namespace chimera
