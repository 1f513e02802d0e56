// A tensor as the payload of a message to another stage.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <utility>

#include "chimera/comm/payload.h"
#include "chimera/model/device_stream.h"

namespace chimera {

// Accompanies a tensor on a device: `ready` fires once the tensor is computed,
// and the receiver gives the tensor back to `owner` once it has read it.
struct Loan {
  std::shared_ptr<c10::Event> ready;
  std::shared_ptr<LentTensors> owner;
};

class TensorPayload final : public Payload {
 public:
  explicit TensorPayload(const at::Tensor& tensor)
      : tensor_(tensor.contiguous()) {}

  TensorPayload(const at::Tensor& tensor, Loan loan)
      : tensor_(tensor.contiguous()), loan_(std::move(loan)) {}

  [[nodiscard]] const at::Tensor& tensor() const { return tensor_; }
  [[nodiscard]] const std::optional<Loan>& loan() const { return loan_; }

  std::span<std::byte> bytes() override {
    return {static_cast<std::byte*>(tensor_.data_ptr()), tensor_.nbytes()};
  }

 private:
  at::Tensor tensor_;
  std::optional<Loan> loan_;
};

[[nodiscard]] inline const at::Tensor& tensor_of(const PayloadPtr& payload) {
  return dynamic_cast<const TensorPayload&>(*payload).tensor();
}

}  // namespace chimera
