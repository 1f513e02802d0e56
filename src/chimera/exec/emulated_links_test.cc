#include "chimera/exec/emulated_links.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "chimera/exec/program.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/scheme.h"

namespace chimera {
namespace {

Costs two_levels(const Schedule& schedule, int ranks) {
  Costs costs = uniform_costs(schedule, {});
  costs.sum_time.reset();
  costs.latency = 1;
  costs.time_per_byte = 0.25;
  costs.node = NodeCosts{.ranks = ranks, .latency = 0.5, .time_per_byte = 0.1};
  for (StageCosts& stage : costs.stages) stage.gradient_bytes = 48;
  return costs;
}

double message(const LinkTimes& links, int from, int to) {
  const LinkTimes::Message time = links.message(from, to, 8);
  return time.occupied + time.latency;
}

// Expects message times as simulated: for each pair of workers, that of the
// slowest copy.
void expect_simulated_messages(const Schedule& schedule, const Costs& costs,
                               const LinkTimes& links) {
  const int workers = schedule.workers();
  for (int from = 0; from < workers; ++from) {
    for (int to = 0; to < workers; ++to) {
      double slowest = 0;
      for (int copy = 0; copy < schedule.width; ++copy) {
        const int first = copy * workers;
        slowest = std::max(slowest, message(links, first + from, first + to));
      }
      const Route route{from, to, workers, schedule.width};
      EXPECT_DOUBLE_EQ(slowest, message_time(costs, route, 8).total());
    }
  }
}

void expect_simulated_sums(const Schedule& schedule, const Costs& costs,
                           const LinkTimes& links) {
  for (const SumGroup& group : schedule.groups) {
    EXPECT_DOUBLE_EQ(links.all_reduce(member_ranks(schedule, group), 48),
                     sum_time(costs, schedule, group));
  }
}

TEST(EmulatedLinks, TakeWhatIsSimulated) {
  for (const int depth : {2, 4, 6}) {
    for (const int width : {1, 2, 3, 4}) {
      for (const int ranks : {1, 2, 3, 4, 8}) {
        SCOPED_TRACE(::testing::Message() << "D=" << depth << " W=" << width
                                          << " nodes of " << ranks);
        const Schedule schedule = lower(make_schedule({.scheme = "chimera",
                                                       .depth = depth,
                                                       .micros = depth,
                                                       .width = width})
                                            .value());
        Costs costs = two_levels(schedule, ranks);
        if (width % 2 == 0) costs.node->distribution = Distribution::kCyclic;
        const LinkTimesPtr links =
            make_emulated_links(costs, num_ranks(schedule));
        expect_simulated_messages(schedule, costs, *links);
        expect_simulated_sums(schedule, costs, *links);
        EXPECT_DOUBLE_EQ(links->vote(), vote_time(costs, depth * width));
      }
    }
  }
}

TEST(EmulatedLinks, AreLeftOutIfTheyTakeNoTime) {
  EXPECT_EQ(make_emulated_links({}, 4), nullptr);
  EXPECT_EQ(make_emulated_links({.node = NodeCosts{.ranks = 2}}, 4), nullptr);
  EXPECT_NE(make_emulated_links({.latency = 1}, 4), nullptr);
  EXPECT_NE(make_emulated_links(
                {.node = NodeCosts{.ranks = 2, .time_per_byte = 1}}, 4),
            nullptr);
}

}  // namespace
}  // namespace chimera
