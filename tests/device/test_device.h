// A device for tests, on the CPU: at::kPrivateUse1, with eight indices. Its
// memory cannot be touched by the host (device_memory.h), its operators are
// those of the CPU, behind streams and events, and each use of memory is
// checked (order_checker.h). Numbers have the bits of the CPU.
//
// What it cannot show: times, and mistakes of libtorch's CUDA code.
#pragma once

#include <ATen/core/Tensor.h>

#include "tests/device/order_checker.h"

namespace chimera::testing {

inline constexpr int kTestDevices = 8;

// Registers the device with libtorch, once for each process.
OrderChecker& use_test_device();

[[nodiscard]] inline at::Device test_device(int index = 0) {
  return {at::kPrivateUse1, static_cast<at::DeviceIndex>(index)};
}

}  // namespace chimera::testing
