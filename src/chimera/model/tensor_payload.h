// A tensor as the payload of a message to another stage.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <utility>

#include "chimera/comm/payload.h"
#include "chimera/model/device_stream.h"
#include "chimera/model/tensor_copies.h"

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
    const at::Tensor& tensor = staged_ ? host_ : tensor_;
    return {static_cast<std::byte*>(tensor.data_ptr()), tensor.nbytes()};
  }

  // Starts the copy to host memory if the tensor is on a device; the tensor
  // itself is then no longer needed.
  void stage() override {
    if (tensor_.is_cpu()) return;
    staged_ = std::make_unique<TensorCopies>();
    host_ = staged_->add(tensor_);
    tensor_.reset();
  }
  bool is_ready() override { return !staged_ || staged_->is_ready(); }

 private:
  at::Tensor tensor_;
  std::optional<Loan> loan_;
  std::unique_ptr<TensorCopies> staged_;
  at::Tensor host_;  // the copy in pinned memory
};

[[nodiscard]] inline const at::Tensor& tensor_of(const PayloadPtr& payload) {
  return dynamic_cast<const TensorPayload&>(*payload).tensor();
}

}  // namespace chimera
