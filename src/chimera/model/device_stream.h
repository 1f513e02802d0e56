// Order between the streams of devices. A device works on its queue while the
// host runs ahead. A stream that reads what another one makes waits for it by
// an event, which holds up the stream and never the host.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace chimera {

// The stream to which this thread's operators on `device` are queued.
[[nodiscard]] inline c10::Stream current_stream(at::Device device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStream(device);
}

// A stream other than the current one.
[[nodiscard]] inline c10::Stream another_stream(at::Device device) {
  return c10::impl::VirtualGuardImpl(device.type())
      .getStreamFromGlobalPool(device);
}

// Makes `device` this thread's current device, with one separate stream for all
// later work. The default stream is left to copies between devices, which would
// otherwise queue behind a rank's computations. Does nothing for the CPU, nor
// for a thread that has such a stream.
inline void compute_on(at::Device device) {
  if (device.is_cpu()) return;
  const c10::impl::VirtualGuardImpl guard(device.type());
  guard.setDevice(device);
  if (guard.getStream(device) != guard.getDefaultStream(device)) return;
  guard.exchangeStream(another_stream(device));
}

// Waits until `device` has done what this thread has queued there. Does nothing
// for the CPU.
inline void wait_for_device(at::Device device) {
  if (!device.is_cpu()) current_stream(device).synchronize();
}

// An event at the end of what `stream` has queued so far.
[[nodiscard]] inline std::shared_ptr<c10::Event> end_of(
    const c10::Stream& stream) {
  auto event = std::make_shared<c10::Event>(stream.device_type());
  event->record(stream);
  return event;
}

// Tensors of one rank that other ranks have read. Their memory returns to
// `stream`, on which they were made: they are freed once it waits for the last
// read. Thread-safe.
class LentTensors {
 public:
  explicit LentTensors(c10::Stream stream) : stream_(stream) {}
  ~LentTensors() { free_returned(); }
  LentTensors(const LentTensors&) = delete;
  LentTensors& operator=(const LentTensors&) = delete;

  void give_back(at::Tensor tensor, std::shared_ptr<c10::Event> last_read) {
    const std::lock_guard lock(mutex_);
    returned_.push_back({std::move(tensor), std::move(last_read)});
  }

  // Frees the tensors that other ranks have given back.
  void free_returned() {
    std::vector<Returned> returned;
    {
      const std::lock_guard lock(mutex_);
      returned.swap(returned_);
    }
    for (const Returned& lent : returned) {
      lent.last_read->block(stream_);
    }
  }

 private:
  struct Returned {
    at::Tensor tensor;
    std::shared_ptr<c10::Event> last_read;
  };
  c10::Stream stream_;
  std::mutex mutex_;
  std::vector<Returned> returned_;
};

}  // namespace chimera
