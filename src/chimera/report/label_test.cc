#include "chimera/report/label.h"

#include <gtest/gtest.h>

namespace chimera {
namespace {

std::string tick_labels(double end, double characters) {
  std::string text;
  for (const Tick& tick : axis_ticks(end, characters)) text += tick.label + ' ';
  return text;
}

TEST(Label, NamesOpAndMicroBatch) {
  EXPECT_EQ(event_label({.op = Op::kF, .micro = 12}, false), "F12");
  EXPECT_EQ(event_label({.op = Op::kB, .micro = 2}, true), "b2");
  EXPECT_EQ(event_label({.op = Op::kF, .micro = 2}, true), "F2");
  EXPECT_EQ(event_label({.op = Op::kG, .group = 3}, false), "G3");
  EXPECT_EQ(event_label({.op = Op::kU, .stage = 3}, false), "U");
}

TEST(Label, DescribesAnEvent) {
  const Action action = {.op = Op::kF, .pipe = 1, .stage = 3, .micro = 2};
  const Event event = {.action = action, .worker = 0, .start = 3, .end = 4.5};
  EXPECT_EQ(describe(event), "F micro 2, stage 3, pipe 1, worker 0: 3 - 4.5");
}

TEST(Label, RangesAreShort) {
  EXPECT_EQ(ranges({}), "");
  EXPECT_EQ(ranges({0, 1, 2, 4, 8, 9}), "0-2, 4, 8-9");
  EXPECT_EQ(ranges({0, 2, 4, 6, 8}), "0, 2, 4, 6, ...");
}

TEST(Label, TicksAreRoundAndHaveRoom) {
  EXPECT_EQ(tick_labels(16, 3), "0 2 4 6 8 10 12 14 16 ");
  EXPECT_EQ(tick_labels(4, 6), "0 1 2 3 4 ");
  EXPECT_EQ(tick_labels(1, 30), "0 0.2 0.4 0.6 0.8 1 ");
  EXPECT_EQ(tick_labels(3000, 0.02), "0 500 1000 1500 2000 2500 3000 ");
  EXPECT_EQ(tick_labels(0, 3), "");
}

}  // namespace
}  // namespace chimera
