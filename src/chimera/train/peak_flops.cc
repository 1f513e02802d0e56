#include "chimera/train/peak_flops.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <ctime>
#include <numeric>
#include <thread>
#include <vector>

#include "chimera/comm/exchange.h"

namespace chimera {
namespace {

// Processor time of the calling thread, in seconds.
double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) +
         1e-9 * static_cast<double>(time.tv_nsec);
}

// Operations per second of the calling thread alone.
double measure_thread_flops(Precision precision) {
  constexpr int kSize = 1024;
  constexpr double kOperations = 2.0 * kSize * kSize * kSize;
  constexpr int kWindows = 4;
  constexpr double kWindow = 0.03;
  constexpr auto kLongest = std::chrono::milliseconds(500);
  at::set_num_threads(1);  // for products on this thread
  const at::Tensor a =
      at::ones({kSize, kSize},
               precision == Precision::kBf16 ? at::kBFloat16 : at::kFloat);
  at::Tensor product = at::empty_like(a);
  at::mm_out(product, a, a);  // touches memory
  double best = 0;
  const Clock::time_point end = Clock::now() + kLongest;
  for (int window = 0; window < kWindows; ++window) {
    if (best > 0 && Clock::now() > end) break;
    const double start = thread_seconds();
    double time = 0;
    double operations = 0;
    while (time < kWindow) {
      at::mm_out(product, a, a);
      operations += kOperations;
      time = thread_seconds() - start;
    }
    best = std::max(best, operations / time);
  }
  return best;
}

}  // namespace

double measure_core_flops(int threads, Precision precision) {
  const int before = at::get_num_threads();
  std::vector<double> flops(threads);
  {
    std::vector<std::jthread> measuring;
    measuring.reserve(threads);
    for (double& of_thread : flops) {
      measuring.emplace_back(
          [&] { of_thread = measure_thread_flops(precision); });
    }
  }
  at::set_num_threads(before);  // the threads above have set the default
  return std::accumulate(flops.begin(), flops.end(), 0.0) / threads;
}

std::string explain_mfu(double mfu) {
  if (mfu <= 1) return "";
  return "MFU is above 100 %, so the cores were slowed down by something else "
         "while their peak was measured: take it as too high";
}

double sum_of_peaks(Transport& transport,
                    const std::function<double()>& measure) {
  const MessageId barrier{.channel = Channel::kMeeting};
  const MessageId sum{.step = 1, .channel = Channel::kMeeting};
  (void)agree_on_sum(transport, 0, barrier);
  return agree_on_sum(transport, measure(), sum);
}

}  // namespace chimera
