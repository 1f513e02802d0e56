// Tensors to receive into, used again as soon as nobody holds them: a fresh one
// for every message would cost as many page faults as it has pages.
#pragma once

#include <ATen/ATen.h>

#include <vector>

namespace chimera {

class ReceiveBuffers {
 public:
  // Of any content. Free again once all copies and views of it are gone.
  [[nodiscard]] at::Tensor take(at::IntArrayRef shape, at::ScalarType dtype) {
    for (const at::Tensor& buffer : buffers_) {
      const bool is_free = buffer.storage().use_count() == 1;
      if (is_free && buffer.sizes() == shape && buffer.scalar_type() == dtype) {
        return buffer.detach();
      }
    }
    buffers_.push_back(at::empty(shape, dtype));
    return buffers_.back().detach();
  }

  [[nodiscard]] std::size_t size() const { return buffers_.size(); }

 private:
  std::vector<at::Tensor> buffers_;  // as many as were ever in use at once
};

}  // namespace chimera
