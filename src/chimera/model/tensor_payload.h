// A tensor as the payload of a message to another stage.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <utility>

#include "chimera/comm/payload.h"

namespace chimera {

class TensorPayload final : public Payload {
 public:
  explicit TensorPayload(const at::Tensor& tensor)
      : tensor_(tensor.contiguous()) {}

  [[nodiscard]] const at::Tensor& tensor() const { return tensor_; }

  std::span<std::byte> bytes() override {
    return {static_cast<std::byte*>(tensor_.data_ptr()), tensor_.nbytes()};
  }

 private:
  at::Tensor tensor_;
};

[[nodiscard]] inline const at::Tensor& tensor_of(const PayloadPtr& payload) {
  return dynamic_cast<const TensorPayload&>(*payload).tensor();
}

}  // namespace chimera
