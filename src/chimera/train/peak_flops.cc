#include "chimera/train/peak_flops.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>

namespace chimera {

double measure_peak_flops() {
  constexpr int kSize = 1024;
  constexpr int kRuns = 4;
  const at::Tensor a = at::ones({kSize, kSize});
  at::Tensor product = at::empty_like(a);
  double best_s = 1e9;
  for (int run = 0; run < kRuns; ++run) {
    const auto start = std::chrono::steady_clock::now();
    at::mm_out(product, a, a);
    const std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - start;
    best_s = std::min(best_s, time.count());
  }
  return 2.0 * kSize * kSize * kSize / best_s;
}

}  // namespace chimera
