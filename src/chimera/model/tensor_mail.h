// The tensors that one rank sends to and receives from others: on the CPU, on
// devices of one process, and in pinned memory between processes.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "chimera/comm/payload.h"
#include "chimera/model/device_stream.h"
#include "chimera/model/receive_buffers.h"

namespace chimera {

// Used by one thread.
class TensorMail {
 public:
  // REQUIRES: the thread computes on the current stream of `device` as long as
  // this object lives.
  explicit TensorMail(at::Device device);

  // Wraps `tensor` in a message. Its memory is charged to no rank while in
  // transit.
  [[nodiscard]] PayloadPtr on_its_way(const at::Tensor& tensor);

  // Returns a message's tensor on this rank's device. A tensor that another
  // rank's device made is copied, and its memory goes back to that rank.
  [[nodiscard]] at::Tensor arrived(const PayloadPtr& payload);

  // Makes a payload for a message of another process; its contents are
  // unspecified.
  [[nodiscard]] PayloadPtr empty(at::IntArrayRef sizes, at::ScalarType type);

  // Frees the tensors that other ranks have read and given back.
  void free_returned();

 private:
  at::Device device_;
  ReceiveBuffers buffers_;             // on the CPU
  std::shared_ptr<LentTensors> lent_;  // on a device
};

}  // namespace chimera
