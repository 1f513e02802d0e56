// The state of the test device: memory, streams, events. One object per
// process, shared by the parts that libtorch asks for (test_device.cc) and the
// operators (device_operators.cc).
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include <mutex>
#include <vector>

#include "tests/device/device_memory.h"
#include "tests/device/order_checker.h"
#include "tests/device/test_device.h"

namespace chimera::testing {

class DeviceRuntime {
 public:
  static DeviceRuntime& get();

  OrderChecker checker;
  MemoryRegion memory{/*is_hidden=*/true};
  MemoryRegion pinned{/*is_hidden=*/false};

  // Number of the stream in OrderChecker.
  [[nodiscard]] static int number(const c10::Stream& stream) {
    return stream.device_index() * kStreamsPerDevice +
           static_cast<int>(stream.id());
  }
  // Number of this thread's current stream on `device`.
  [[nodiscard]] static int current(at::Device device);

  // The pinned block at `place` is used by operator `number` of `stream`: until
  // the host knows that it is done, only `rights` are left.
  void lend_pinned(const void* place, int stream, std::uint64_t number,
                   int rights);
  void forget_pinned(const std::byte* block);
  // Restores the rights of pinned blocks whose operators the host now knows to
  // be done.
  void return_pinned();
  // Allows the host's access to `place`, and reports it.
  void touched(void* place);
  [[nodiscard]] bool is_ours(const void* place) const {
    return memory.contains(place) || pinned.contains(place);
  }

 private:
  struct Lent {
    std::byte* block;
    int stream;
    std::uint64_t number;
  };
  std::mutex mutex_;
  std::vector<Lent> lent_;  // guarded by mutex_
};

// Registers the operators; called once.
void register_device_operators();

}  // namespace chimera::testing
