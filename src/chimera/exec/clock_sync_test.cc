#include "chimera/exec/clock_sync.h"

#include <gtest/gtest.h>

#include <thread>

#include "chimera/comm/threads.h"

namespace chimera {
namespace {

std::vector<Clock::duration> offsets(
    const std::vector<Clock::duration>& ahead,
    const std::vector<std::uint64_t>& machines) {
  const int ranks = static_cast<int>(ahead.size());
  ThreadsWorld world({.ranks = ranks});
  std::vector<Clock::duration> found(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      found[rank] = clock_offset(world.at(rank),
                                 {.machine = machines[rank], .now = [&, rank] {
                                    return Clock::now() + ahead[rank];
                                  }});
    });
  }
  for (std::thread& thread : threads) thread.join();
  return found;
}

TEST(ClockSync, FindsHowFarClocksOfOtherMachinesAreAhead) {
  using std::chrono::hours;
  using std::chrono::milliseconds;
  const std::vector<Clock::duration> ahead = {hours(5), milliseconds(-250),
                                              hours(9), hours(5)};
  const std::vector<Clock::duration> found = offsets(ahead, {1, 2, 3, 1});
  EXPECT_EQ(found[0], Clock::duration::zero());
  // A message usually takes microseconds here; a busy machine may take
  // milliseconds.
  EXPECT_LT(std::chrono::abs(found[1] - (ahead[1] - ahead[0])),
            milliseconds(20));
  EXPECT_LT(std::chrono::abs(found[2] - (ahead[2] - ahead[0])),
            milliseconds(20));
}

TEST(ClockSync, IsExactOnOneMachine) {
  EXPECT_EQ(offsets({Clock::duration(0), Clock::duration(0)}, {4, 4})[1],
            Clock::duration::zero());
}

}  // namespace
}  // namespace chimera
