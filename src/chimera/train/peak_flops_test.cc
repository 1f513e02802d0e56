#include "chimera/train/peak_flops.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "chimera/exec/run_threads.h"

namespace chimera {
namespace {

// Each rank arrives later than the one before it, and none measures before the
// last one has arrived.
TEST(PeakFlops, AreAddedUpWhileAllRanksMeasure) {
  constexpr int kRanks = 4;
  std::atomic<int> arrived = 0;
  run_threads(
      {.ranks = kRanks, .deadline = std::chrono::seconds(30)},
      [&](Transport& transport) {
        const int rank = transport.rank();
        std::this_thread::sleep_for(std::chrono::milliseconds(20 * rank));
        ++arrived;
        const double sum = sum_of_peaks(transport, [&] {
          EXPECT_EQ(arrived, kRanks);
          return static_cast<double>(rank + 1);
        });
        EXPECT_EQ(sum, 1 + 2 + 3 + 4);
      });
}

// Two programs that compute on every core leave this one a third of it. A
// measurement by the time on the clock would find a third of the speed.
TEST(PeakFlops, AreThoseOfACoreAlsoOnABusyMachine) {
  const double idle = measure_core_flops(1);
  std::atomic<bool> is_done = false;
  double busy = 0;
  {
    std::vector<std::jthread> others(2 * std::thread::hardware_concurrency());
    for (std::jthread& other : others) {
      other = std::jthread([&] {
        while (!is_done) {
        }
      });
    }
    busy = measure_core_flops(1);
    is_done = true;
  }
  EXPECT_GT(busy, 0.6 * idle);
}

TEST(PeakFlops, AnMfuAboveOneIsExplained) {
  EXPECT_EQ(explain_mfu(1), "");
  EXPECT_NE(explain_mfu(1.01).find("too high"), std::string::npos);
}

}  // namespace
}  // namespace chimera
