// The payload of a message that carries several tensors to another stage.
#pragma once

#include <ATen/ATen.h>

#include <cstring>
#include <vector>

#include "chimera/comm/payload.h"

namespace chimera::python {

// One tensor that passes between two stages.
struct TensorSpec {
  std::vector<std::int64_t> sizes;
  at::ScalarType dtype = at::kFloat;
  at::Device device = at::kCPU;
  bool has_gradient = false;
};
using Boundary = std::vector<TensorSpec>;

// Between threads the tensors are handed over; between processes they are
// packed one after the other into one buffer.
class TensorsPayload final : public Payload {
 public:
  explicit TensorsPayload(std::vector<at::Tensor> tensors)
      : tensors_(std::move(tensors)) {
    for (at::Tensor& tensor : tensors_) tensor = tensor.contiguous();
  }
  // Makes a payload to receive into.
  explicit TensorsPayload(const Boundary& specs) {
    std::int64_t total = 0;
    for (const TensorSpec& spec : specs) total += padded(bytes_of(spec));
    const at::Device device = specs.empty() ? at::kCPU : specs[0].device;
    packed_ = at::empty({std::max<std::int64_t>(total, 1)},
                        at::device(device).dtype(at::kByte));
    std::int64_t at = 0;
    for (const TensorSpec& spec : specs) {
      tensors_.push_back(packed_.slice(0, at, at + bytes_of(spec))
                             .view(spec.dtype)
                             .view(spec.sizes));
      at += padded(bytes_of(spec));
    }
  }

  [[nodiscard]] const std::vector<at::Tensor>& tensors() const {
    return tensors_;
  }

  std::span<std::byte> bytes() override {
    if (!packed_.defined() && is_one_whole()) {
      return {static_cast<std::byte*>(tensors_[0].data_ptr()),
              tensors_[0].nbytes()};
    }
    if (!packed_.defined()) pack();
    return {static_cast<std::byte*>(packed_.data_ptr()), packed_.nbytes()};
  }

 private:
  // Offset granularity within the buffer, sufficient for every type.
  static constexpr std::int64_t kAlignment = 16;

  static std::int64_t padded(std::int64_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  static std::int64_t bytes_of(const TensorSpec& spec) {
    std::int64_t count = 1;
    for (const std::int64_t size : spec.sizes) count *= size;
    return count * static_cast<std::int64_t>(at::elementSize(spec.dtype));
  }
  [[nodiscard]] bool is_one_whole() const {
    return tensors_.size() == 1 && tensors_[0].nbytes() > 0 &&
           tensors_[0].nbytes() % kAlignment == 0;
  }
  void pack() {
    Boundary specs;
    for (const at::Tensor& tensor : tensors_) {
      specs.push_back(
          {tensor.sizes().vec(), tensor.scalar_type(), tensor.device(), false});
    }
    TensorsPayload room(specs);
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      room.tensors_[i].copy_(tensors_[i]);
    }
    packed_ = room.packed_;
  }

  std::vector<at::Tensor> tensors_;
  at::Tensor packed_;  // undefined until bytes() is called
};

}  // namespace chimera::python
