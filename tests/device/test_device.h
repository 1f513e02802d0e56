// A device for tests, on the CPU: at::kPrivateUse1, with eight indices. Its
// memory cannot be touched by the host (device_memory.h), its operators are
// those of the CPU, behind streams and events, and each use of memory is
// checked (order_checker.h). Numbers have the bits of the CPU, whose own bf16
// kernels are off in these programs.
//
// What it cannot show: real times, and mistakes of libtorch's CUDA code.
#pragma once

#include <ATen/core/Tensor.h>

#include "tests/device/order_checker.h"

namespace chimera::testing {

inline constexpr int kTestDevices = 8;

// Milliseconds of the device per millisecond of the host, so that a test can
// tell whose time was taken.
inline constexpr double kClockRate = 100;

// Registers the device with libtorch, once for each process.
OrderChecker& use_test_device();

[[nodiscard]] inline at::Device test_device(int index = 0) {
  return {at::kPrivateUse1, static_cast<at::DeviceIndex>(index)};
}

}  // namespace chimera::testing
