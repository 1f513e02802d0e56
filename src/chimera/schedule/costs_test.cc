#include "chimera/schedule/costs.h"

#include <gtest/gtest.h>

#include <cmath>

namespace chimera {
namespace {

// Nodes of 4 ranks: 10 times as fast within as between.
Costs two_levels() {
  Costs costs;
  costs.latency = 1;
  costs.time_per_byte = 0.5;
  costs.time_per_message = 0.25;
  costs.node = NodeCosts{.ranks = 4, .latency = 0.1, .time_per_byte = 0.05};
  return costs;
}

double time_between(int from, int to, int workers, int width) {
  return message_time(two_levels(), {from, to, workers, width}, 8).total();
}

constexpr double kWithin = 0.1 + 0.25 + 0.4;
constexpr double kBetween = 1 + 0.25 + 4;

TEST(Costs, AMessageTakesTheLinkOfItsNode) {
  EXPECT_DOUBLE_EQ(time_between(2, 3, 8, 1), kWithin);
  EXPECT_DOUBLE_EQ(time_between(3, 4, 8, 1), kBetween);
  EXPECT_DOUBLE_EQ(time_between(4, 7, 8, 2), kWithin);
}

// Copies of 6 workers: the second one starts in the middle of a node.
TEST(Costs, AMessageIsAsSlowAsInTheSlowestCopy) {
  EXPECT_DOUBLE_EQ(time_between(1, 2, 6, 1), kWithin);
  EXPECT_DOUBLE_EQ(time_between(1, 2, 6, 2), kBetween);
  EXPECT_DOUBLE_EQ(time_between(0, 1, 6, 100), kWithin);
}

TEST(Costs, ASumReducesWithinNodesFirst) {
  const Costs costs = two_levels();
  const auto time = [&](const std::vector<int>& holders, int workers,
                        int width) {
    return all_reduce_time(costs, sum_ranks(costs, holders, workers, width), 8);
  };
  // One node of 4 ranks: 4 rounds, 1.5 times the bytes.
  EXPECT_DOUBLE_EQ(time({0, 1, 2, 3}, 4, 1), 4 * 0.1 + 1.5 * 8 * 0.05);
  // Two nodes of 4 ranks: then 2 rounds for a quarter of the bytes.
  EXPECT_DOUBLE_EQ(time({0, 1, 2, 3}, 4, 2),
                   4 * 0.1 + 1.5 * 8 * 0.05 + 2 + 1 * 2 * 0.5);
  // Two nodes with a rank each.
  EXPECT_DOUBLE_EQ(time({0}, 4, 2), 2 + 1 * 8 * 0.5);
  // 3 ranks on one node and 1 on the other: it carries all bytes.
  EXPECT_DOUBLE_EQ(time({1, 2, 3, 4}, 8, 1),
                   2 * std::log2(3) * 0.1 + 4.0 / 3 * 8 * 0.05 + 2 + 8 * 0.5);
}

TEST(Costs, AVoteOfOneNodeStaysThere) {
  EXPECT_DOUBLE_EQ(vote_time(two_levels(), 4), 4 * 0.1);
  EXPECT_DOUBLE_EQ(vote_time(two_levels(), 5), 6 * 1.0);
}

}  // namespace
}  // namespace chimera
