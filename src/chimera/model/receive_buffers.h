// Tensors to receive into, reused as soon as no one refers to them: a new
// tensor for every message would cost a page fault per page.
#pragma once

#include <ATen/ATen.h>

#include <vector>

namespace chimera {

class ReceiveBuffers {
 public:
  // Returns a tensor with unspecified contents. It becomes free again once all
  // copies and views of it are gone.
  [[nodiscard]] at::Tensor take(at::IntArrayRef shape,
                                const at::TensorOptions& options) {
    for (const at::Tensor& buffer : buffers_) {
      const bool is_free = buffer.storage().use_count() == 1;
      if (is_free && buffer.sizes() == shape &&
          buffer.dtype() == options.dtype()) {
        return buffer.detach();
      }
    }
    buffers_.push_back(at::empty(shape, options));
    return buffers_.back().detach();
  }

  [[nodiscard]] std::size_t size() const { return buffers_.size(); }

 private:
  std::vector<at::Tensor> buffers_;  // most ever in use at once
};

}  // namespace chimera
