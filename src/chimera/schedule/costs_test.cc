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

// Eight ranks on two nodes, in turns.
TEST(Costs, RanksMayBeDealtOutInTurns) {
  Costs costs = two_levels();
  costs.node->distribution = Distribution::kCyclic;
  const auto message = [&](int from, int to) {
    return message_time(costs, {from, to, 4, 2}, 8).total();
  };
  EXPECT_DOUBLE_EQ(message(0, 1), kBetween);
  EXPECT_DOUBLE_EQ(message(1, 3), kWithin);
  const auto sum = [&](const std::vector<int>& holders, int width) {
    return all_reduce_time(costs, sum_ranks(costs, holders, 4, width), 8);
  };
  // Both copies of worker 0 are on one node, with both copies of worker 2.
  EXPECT_DOUBLE_EQ(sum({0}, 2), 2 * 0.1 + 8 * 0.05);
  EXPECT_DOUBLE_EQ(sum({0, 2}, 2), 4 * 0.1 + 1.5 * 8 * 0.05);
  EXPECT_DOUBLE_EQ(sum({0, 1}, 2), 2 * 0.1 + 8 * 0.05 + 2 + 4 * 0.5);
}

TEST(Costs, ANodeMayHaveMoreRanksThanThereAre) {
  NodeCosts node{.ranks = std::numeric_limits<int>::max(),
                 .distribution = Distribution::kCyclic};
  EXPECT_EQ(node.node_of(23, 24), 0);
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
  // Three ranks on one node and one on the other, which carries all bytes.
  EXPECT_DOUBLE_EQ(time({1, 2, 3, 4}, 8, 1),
                   2 * std::log2(3) * 0.1 + 4.0 / 3 * 8 * 0.05 + 2 + 8 * 0.5);
}

TEST(Costs, AVoteOfOneNodeStaysThere) {
  EXPECT_DOUBLE_EQ(vote_time(two_levels(), 4), 4 * 0.1);
  EXPECT_DOUBLE_EQ(vote_time(two_levels(), 5), 6 * 1.0);
}

}  // namespace
}  // namespace chimera
