#include "chimera/train/peak_flops.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "chimera/exec/emulated.h"
#include "chimera/exec/run_threads.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/scheme.h"

namespace chimera {
namespace {

// Each rank comes later than the one before it, and none measures before the
// last is there.
TEST(PeakFlops, AreAddedUpWhileAllRanksMeasure) {
  constexpr int kRanks = 4;
  const Schedule lowered =
      lower(make_schedule({.scheme = "1f1b", .depth = kRanks, .micros = kRanks})
                .value());
  std::atomic<int> arrived = 0;
  run_threads(
      {.ranks = kRanks, .deadline = std::chrono::seconds(30)},
      [&](int) {
        return make_emulated(lowered, std::vector<EmulatedStage>(kRanks));
      },
      [&](const RankSite& site) {
        const int rank = site.transport.rank();
        std::this_thread::sleep_for(std::chrono::milliseconds(20 * rank));
        ++arrived;
        const double sum = sum_of_peaks(site.transport, 100, [&] {
          EXPECT_EQ(arrived, kRanks);
          return static_cast<double>(rank + 1);
        });
        EXPECT_EQ(sum, 1 + 2 + 3 + 4);
      });
}

}  // namespace
}  // namespace chimera
