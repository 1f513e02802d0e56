// Chooses the device on which each rank computes: the CPU, or a device of its
// own.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "chimera/base/result.h"
#include "chimera/config/names.h"

namespace chimera {

struct DeviceRequest {
  DeviceKind kind = DeviceKind::kCpu;
  int ranks = 1;  // of the run
  // Ranks that are processes of this host; 0: all ranks are threads of one
  // process.
  int ranks_here = 0;
  int local_rank = 0;  // index of this process on its host
  bool emulated = false;
};

// What libtorch finds in this process.
struct CudaDevices {
  bool is_built = false;  // libtorch is a CUDA build
  int count = 0;
};
[[nodiscard]] CudaDevices count_devices();

// Chooses the device of each rank. If ranks are processes, every entry is this
// process's device. E577 if the devices are not there, are too few, or cannot
// serve such a run.
[[nodiscard]] Result<std::vector<at::Device>> choose_devices(
    const DeviceRequest& request, const CudaDevices& here);

}  // namespace chimera
