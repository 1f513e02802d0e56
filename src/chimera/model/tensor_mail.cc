#include "chimera/model/tensor_mail.h"

#include <ATen/ATen.h>

#include "chimera/model/memory_meter.h"
#include "chimera/model/tensor_batch.h"
#include "chimera/model/tensor_payload.h"

namespace chimera {

TensorMail::TensorMail(at::Device device) : device_(device) {
  if (device_.is_cpu()) return;
  lent_ = std::make_shared<LentTensors>(current_stream(device_));
}

PayloadPtr TensorMail::on_its_way(const at::Tensor& tensor) {
  if (lent_) {
    const auto ready = end_of(current_stream(device_));
    return std::make_unique<TensorPayload>(tensor, Loan{ready, lent_});
  }
  auto payload = std::make_unique<TensorPayload>(tensor);
  disclaim(payload->tensor());
  return payload;
}

at::Tensor TensorMail::arrived(const PayloadPtr& payload) {
  const auto& message = dynamic_cast<const TensorPayload&>(*payload);
  const at::Tensor& tensor = message.tensor();
  if (!lent_) {
    claim(tensor);
    return tensor;
  }
  if (tensor.is_cpu()) return to_device(tensor, device_);  // of a process
  // A tensor that this rank made itself, for another of its stages, needs no
  // copy.
  if (message.loan()->owner == lent_) return tensor;
  const c10::Stream stream = current_stream(device_);
  message.loan()->ready->block(stream);
  at::Tensor copy = at::empty(tensor.sizes(), tensor.options().device(device_));
  copy.copy_(tensor, /*non_blocking=*/true);
  message.loan()->owner->give_back(tensor, end_of(stream));
  return copy;
}

PayloadPtr TensorMail::empty(at::IntArrayRef sizes, at::ScalarType type) {
  if (!lent_) {
    return std::make_unique<TensorPayload>(buffers_.take(sizes, type));
  }
  // Allocates pinned memory each time: libtorch reuses it once its copies are
  // done.
  return std::make_unique<TensorPayload>(
      at::empty(sizes, at::TensorOptions(type).pinned_memory(true)));
}

void TensorMail::free_returned() {
  if (lent_) lent_->free_returned();
}

}  // namespace chimera
