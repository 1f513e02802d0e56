#include "chimera/model/tensor_batch.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "chimera/base/check.h"

namespace chimera {
namespace {

// A tensor in host memory, pinned if it goes to a device.
at::Tensor to_host_tensor(const std::vector<std::int64_t>& numbers,
                          at::IntArrayRef sizes, at::Device device) {
  if (numbers.empty()) return {};
  CHIMERA_CHECK_EQ(static_cast<std::int64_t>(numbers.size()),
                   c10::multiply_integers(sizes));
  at::Tensor tensor = at::empty(
      sizes, at::TensorOptions(at::kLong).pinned_memory(!device.is_cpu()));
  std::copy(numbers.begin(), numbers.end(),
            tensor.mutable_data_ptr<std::int64_t>());
  return tensor;
}

at::Tensor to_tensor(const std::vector<std::int64_t>& numbers,
                     at::IntArrayRef sizes, at::Device device) {
  const at::Tensor host = to_host_tensor(numbers, sizes, device);
  return host.defined() ? to_device(host, device) : host;
}

at::Tensor rows(const at::Tensor& tensor, std::int64_t first,
                std::int64_t count) {
  return tensor.defined() ? tensor.narrow(0, first, count) : tensor;
}

// (B, T) -> (B, 1, T, T)
at::Tensor equal_pairs(const at::Tensor& segments) {
  if (!segments.defined()) return segments;
  return (segments.unsqueeze(2) == segments.unsqueeze(1)).unsqueeze(1);
}

}  // namespace

at::Tensor to_device(const at::Tensor& host, at::Device device) {
  if (device.is_cpu()) return host;
  // From pinned memory the copy needs no wait.
  const at::Tensor pinned = host.is_pinned() ? host : host.pin_memory();
  return pinned.to(device, /*non_blocking=*/true);
}

TensorBatch to_tensors(const Batch& batch, const TargetCount& total,
                       at::Device device) {
  CHIMERA_CHECK_EQ(batch.sample_ids.size(),
                   static_cast<std::size_t>(batch.samples));
  const std::vector<std::int64_t> tokens = {batch.samples, batch.seq};
  const at::Tensor targets = to_host_tensor(batch.targets, tokens, device);
  return {
      .inputs = to_tensor(batch.inputs, tokens, device),
      .targets = targets.defined() ? to_device(targets, device) : targets,
      .host_targets = targets,
      .token_types = to_tensor(batch.token_types, tokens, device),
      .next_sentence = to_tensor(batch.next_sentence, {batch.samples}, device),
      .positions = to_tensor(batch.positions, tokens, device),
      .sees = equal_pairs(to_tensor(batch.segments, tokens, device)),
      .sample_ids = batch.sample_ids,
      .total = total};
}

TensorBatch slice(const TensorBatch& batch, std::int64_t first,
                  std::int64_t count) {
  CHIMERA_CHECK(first >= 0 && count >= 0, "a slice of a batch");
  const auto size = static_cast<std::int64_t>(batch.sample_ids.size());
  CHIMERA_CHECK(first + count <= size, "a slice goes beyond its batch");
  const auto begin = batch.sample_ids.begin() + first;
  return {.inputs = rows(batch.inputs, first, count),
          .targets = rows(batch.targets, first, count),
          .host_targets = rows(batch.host_targets, first, count),
          .token_types = rows(batch.token_types, first, count),
          .next_sentence = rows(batch.next_sentence, first, count),
          .positions = rows(batch.positions, first, count),
          .sees = rows(batch.sees, first, count),
          .sample_ids = {begin, begin + count},
          .total = batch.total};
}

}  // namespace chimera
