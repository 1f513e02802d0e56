#include "chimera/trace/measure.h"

#include <gtest/gtest.h>

namespace chimera {
namespace {

Event forward(int worker, double start, double end) {
  return {.action = {.op = Op::kF, .pipe = 0, .stage = worker, .micro = 0},
          .worker = worker,
          .start = start,
          .end = end};
}

// Three workers on two cores: from 2 to 5 each has two thirds of a core.
TEST(Unshared, SharesOfCoresAreTakenOut) {
  const Trace trace{
      .workers = 3,
      .events = {forward(0, 0, 5), forward(1, 2, 6), forward(2, 2, 5)}};
  const Trace alone = unshared(trace, 2);
  EXPECT_DOUBLE_EQ(alone.events[0].end, 0 + 2 + 3 * 2.0 / 3);
  EXPECT_DOUBLE_EQ(alone.events[1].end, 2 + 3 * 2.0 / 3 + 1);
  EXPECT_DOUBLE_EQ(alone.events[2].end, 2 + 3 * 2.0 / 3);
}

TEST(Unshared, NothingChangesWithACoreForEach) {
  Trace trace{.workers = 2, .events = {forward(0, 0, 2), forward(1, 1, 3)}};
  trace.events.push_back({.action = {.op = Op::kG}, .start = 0, .end = 9});
  EXPECT_EQ(unshared(trace, 2), trace);
}

}  // namespace
}  // namespace chimera
