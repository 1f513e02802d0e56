// Copies of a device's tensors in pinned host memory.
#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "chimera/exec/train_state.h"
#include "chimera/model/device_stream.h"

namespace chimera {

class TensorCopies final : public HostCopy {
 public:
  // Queues a copy behind what this thread has queued on the tensor's device.
  // The numbers may be read after wait().
  [[nodiscard]] const at::Tensor& add(const at::Tensor& tensor) {
    at::Tensor copy = at::empty(
        tensor.sizes(), tensor.options().device(at::kCPU).pinned_memory(true));
    copy.copy_(tensor, /*non_blocking=*/true);
    end_ = end_of(current_stream(tensor.device()));
    copies_.push_back(std::move(copy));
    return copies_.back();
  }
  void wait() override { end_->synchronize(); }
  [[nodiscard]] bool is_ready() const { return end_->query(); }

 private:
  std::vector<at::Tensor> copies_;
  std::shared_ptr<c10::Event> end_;  // of the last copy
};

// Copies tensors to host memory and waits once for their device. Tensors of the
// CPU are returned as they are.
[[nodiscard]] inline std::vector<at::Tensor> to_host(
    const std::vector<at::Tensor>& tensors) {
  if (tensors.empty() || tensors[0].is_cpu()) return tensors;
  TensorCopies copies;
  std::vector<at::Tensor> host;
  host.reserve(tensors.size());
  for (const at::Tensor& tensor : tensors) host.push_back(copies.add(tensor));
  copies.wait();
  return host;
}

}  // namespace chimera
