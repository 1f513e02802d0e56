#include "chimera/train/devices.h"

#include <ATen/Context.h>
#include <fmt/format.h>
#include <torch/headeronly/version.h>

#include <algorithm>

namespace chimera {
namespace {

Diagnostic refusal(const std::string& needed, const std::string& hint) {
  return {.code = "E577",
          .found = "run.device = \"cuda\"",
          .needed = needed,
          .hint = hint};
}

}  // namespace

CudaDevices count_devices() {
  const at::CUDAHooksInterface& hooks = at::detail::getCUDAHooks();
  const bool is_built = hooks.hasCUDART();
  return {.is_built = is_built,
          .count = is_built ? static_cast<int>(hooks.deviceCount()) : 0};
}

Result<std::vector<at::Device>> choose_devices(const DeviceRequest& request,
                                               const CudaDevices& here) {
  if (request.kind == DeviceKind::kCpu) {
    return std::vector<at::Device>(request.ranks, at::kCPU);
  }
  if (request.emulated) {
    return refusal(
        "is for models with weights: emulated stages compute nothing",
        "leave it out");
  }
  if (!here.is_built) {
    return refusal(
        fmt::format("needs a build with a CUDA torch; this one has torch {}, "
                    "which computes on the CPU only",
                    TORCH_VERSION),
        "./dev check-cuda installs the CUDA build of torch (pip install "
        "'torch===2.13.0', several GB) and builds build/cuda/chimera; or "
        "run.device = \"cpu\"");
  }
  if (here.count == 0) {
    return refusal("needs a GPU, and libtorch sees none on this host",
                   "see nvidia-smi and CUDA_VISIBLE_DEVICES");
  }
  const bool are_threads = request.ranks_here == 0;
  const int workers = are_threads ? request.ranks : request.ranks_here;
  if (workers > here.count) {
    return refusal(
        fmt::format("needs a GPU for each worker of a host: {} workers would "
                    "share {}, and two that wait for each other's messages on "
                    "one GPU can block each other",
                    workers, here.count),
        fmt::format("start at most {} workers per host, and let each process "
                    "see all GPUs of its host",
                    here.count));
  }
  if (!are_threads) {
    return std::vector<at::Device>(
        request.ranks, at::Device(at::kCUDA, static_cast<at::DeviceIndex>(
                                                 request.local_rank)));
  }
  std::vector<at::Device> devices;
  devices.reserve(request.ranks);
  for (int rank = 0; rank < request.ranks; ++rank) {
    devices.emplace_back(at::kCUDA, static_cast<at::DeviceIndex>(rank));
  }
  return devices;
}

}  // namespace chimera
