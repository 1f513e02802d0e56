#include "chimera/train/peak_flops.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>

#include "chimera/comm/exchange.h"

namespace chimera {

double measure_peak_flops(int threads) {
  constexpr int kSize = 1024;
  constexpr double kOperations = 2.0 * kSize * kSize * kSize;
  constexpr int kWindows = 4;
  constexpr std::chrono::duration<double> kWindow{0.03};
  at::set_num_threads(threads);
  const at::Tensor a = at::ones({kSize, kSize});
  at::Tensor product = at::empty_like(a);
  at::mm_out(product, a, a);  // starts threads and touches memory
  double best = 0;
  for (int window = 0; window < kWindows; ++window) {
    const auto start = std::chrono::steady_clock::now();
    std::chrono::duration<double> time{0};
    double operations = 0;
    while (time < kWindow) {
      at::mm_out(product, a, a);
      operations += kOperations;
      time = std::chrono::steady_clock::now() - start;
    }
    best = std::max(best, operations / time.count());
  }
  return best;
}

double sum_of_peaks(Transport& transport,
                    const std::function<double()>& measure) {
  const MessageId barrier{.channel = Channel::kMeeting};
  const MessageId sum{.step = 1, .channel = Channel::kMeeting};
  (void)agree_on_sum(transport, 0, barrier);
  return agree_on_sum(transport, measure(), sum);
}

}  // namespace chimera
