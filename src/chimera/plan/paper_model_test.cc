#include "chimera/plan/paper_model.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "chimera/schedule/asap.h"
#include "chimera/simulate/simulate.h"

namespace chimera {
namespace {

constexpr double kF = 3, kB = 6;

Costs even_costs(int stages, double forward, double backward) {
  Costs costs;
  const StageCosts stage{.forward = forward,
                         .input_grad = backward / 2,
                         .weight_grad = backward / 2};
  costs.stages.assign(stages, stage);
  return costs;
}

ScheduleSpec chimera_spec(int depth, int micros, Scale scale = Scale::kDirect) {
  return {
      .scheme = "chimera", .depth = depth, .micros = micros, .scale = scale};
}

double compute_of(const ScheduleSpec& spec, double forward, double backward) {
  return paper_time(spec, even_costs(spec.depth, forward, backward), {})
      .compute;
}

double simulated(const ScheduleSpec& spec, double forward, double backward) {
  return simulate(lower(make_schedule(spec).value()),
                  even_costs(spec.depth, forward, backward))
      .makespan;
}

TEST(PaperModel, CountsOfTheBasicUnit) {
  EXPECT_EQ(path_counts(chimera_spec(6, 6)), (PathCounts{6, 10}));
  ScheduleSpec four = chimera_spec(8, 8);
  four.pipes = 4;
  EXPECT_EQ(path_counts(four), (PathCounts{8, 10}));
  EXPECT_EQ(path_counts({.scheme = "dapple", .depth = 4, .micros = 6}),
            (PathCounts{9, 9}));
}

TEST(PaperModel, HasNoFormForOthers) {
  EXPECT_FALSE(path_counts({.scheme = "zb-h1", .depth = 4, .micros = 4}));
  EXPECT_FALSE(path_counts(chimera_spec(4, 6)));
  EXPECT_FALSE(path_counts(chimera_spec(5, 5)));  // no such layout
  EXPECT_FALSE(path_counts(chimera_spec(4, 12, Scale::kDoubling)));
}

// With free messages and sums the formula equals the simulator.
RC_GTEST_PROP(PaperModel, ComputeIsTheSimulatorsMakespan, ()) {
  const auto scheme = *rc::gen::elementOf(
      std::vector<std::string>{"gpipe", "1f1b", "gems", "chimera"});
  ScheduleSpec spec = {.scheme = scheme};
  spec.depth = 2 * *rc::gen::inRange(1, 6);
  spec.micros = spec.depth * *rc::gen::inRange(1, 4);
  const double backward =
      kF * *rc::gen::elementOf(std::vector<double>{1, 2, 3});
  RC_ASSERT(std::abs(compute_of(spec, kF, backward) -
                     simulated(spec, kF, backward)) < 1e-9);
}

TEST(PaperModel, DoublingAndHalvingAreTheSimulatorsToo) {
  for (const int depth : {2, 4, 8, 16}) {
    for (const int units : {1, 2, 3}) {
      const ScheduleSpec twice =
          chimera_spec(depth, 2 * units * depth, Scale::kDoubling);
      EXPECT_NEAR(compute_of(twice, kF, kB), simulated(twice, kF, kB), 1e-9);
      for (const double slow : {2.5, 3.0, 3.5, 4.0}) {
        EXPECT_NEAR(compute_of(twice, kF, slow * kF),
                    simulated(twice, kF, slow * kF), 1e-9);
      }
      const ScheduleSpec halves =
          chimera_spec(depth, units * depth, Scale::kHalving);
      EXPECT_NEAR(compute_of(halves, kF, kB), simulated(halves, kF, kB), 1e-9);
    }
  }
}

// Figure 6: idle slots after a stage's last backward on its holder, with F = B.
TEST(PaperModel, FreeSlotsAreTheIdleOnesOfTheSchedule) {
  for (const char* scheme : {"chimera", "1f1b", "gpipe"}) {
    for (const int depth : {2, 4, 6, 8, 12}) {
      const ScheduleSpec spec = {
          .scheme = scheme, .depth = depth, .micros = depth};
      const Schedule schedule = make_schedule(spec).value();
      const AsapTimes times = asap(schedule, even_costs(depth, 1, 1));
      double makespan = 0;
      for (const auto& ends : times.end) {
        makespan = std::max(makespan, ends.back());
      }
      for (int stage = 0; stage < depth; ++stage) {
        const int worker = schedule.placement.worker(0, stage);
        const ActionList& list = schedule.actions[worker];
        size_t last = 0;
        for (size_t at = 0; at < list.size(); ++at) {
          if (list[at].stage == stage) last = at;
        }
        const auto later = static_cast<double>(list.size() - 1 - last);
        const double idle = makespan - times.end[worker][last] - later;
        EXPECT_EQ(free_slots(spec, stage, Sync::kEagerOpt), idle)
            << scheme << " D=" << depth << " stage " << stage;
      }
    }
  }
}

// Compares with T for D = N = 4, W = 2, worked out by hand.
TEST(PaperModel, AddsMessagesAndTheSumThatIsNotHidden) {
  ScheduleSpec spec = chimera_spec(4, 4);
  spec.width = 2;
  Costs costs = even_costs(4, 1, 2);
  costs.latency = 0.1;
  costs.time_per_byte = 0.01;
  for (StageCosts& stage : costs.stages) {
    stage.boundary_bytes = 10;
    stage.gradient_bytes = 100;
  }
  // Stage 0: 2 log2(4) 0.1 + 2 3/4 0.01 100 = 1.9, nothing hides it.
  const PaperTime time = paper_time(spec, costs, {});
  EXPECT_NEAR(time.compute, 4 * 1 + 6 * 2, 1e-12);
  EXPECT_NEAR(time.message, 10 * 0.2, 1e-12);
  EXPECT_NEAR(time.sum, 1.9, 1e-12);
  EXPECT_NEAR(time.total(), 16 + 2 + 1.9, 1e-12);

  // With recomputation a backward takes F more.
  EXPECT_NEAR(paper_time(spec, costs, {.recompute = true}).compute,
              4 * 1 + 6 * 3, 1e-12);

  // A heavy last stage can hide 2 units of its sum, one idle slot.
  costs.stages[3].gradient_bytes = 400;
  EXPECT_NEAR(paper_time(spec, costs, {}).sum, 0.4 + 6 - 2, 1e-12);

  // A tied weight on four ranks: nothing hides its sum.
  costs.tied_bytes = 1000;
  EXPECT_NEAR(paper_time(spec, costs, {}).sum, 0.4 + 15, 1e-12);
  // Even a single pipe has one sum: that of its two ends.
  const ScheduleSpec one = {.scheme = "1f1b", .depth = 4, .micros = 4};
  EXPECT_NEAR(paper_time(one, costs, {}).sum, 0.2 + 10, 1e-12);
}

TEST(PaperModel, PipeDreamSumsAfterEveryMicroBatch) {
  Costs costs = even_costs(2, 1, 2);
  for (StageCosts& stage : costs.stages) stage.gradient_bytes = 100;
  costs.time_per_byte = 1;
  ScheduleSpec spec = {.scheme = "pipedream-2bw", .depth = 2, .micros = 4};
  spec.width = 2;
  const double once = paper_time(spec, costs, {}).sum;
  spec.scheme = "pipedream";
  EXPECT_EQ(paper_time(spec, costs, {}).sum, 4 * once);
}

TEST(PaperModel, OneHolderSumsNothing) {
  Costs costs = even_costs(4, 1, 2);
  for (StageCosts& stage : costs.stages) stage.gradient_bytes = 100;
  costs.time_per_byte = 1;
  const ScheduleSpec spec = {.scheme = "1f1b", .depth = 4, .micros = 4};
  EXPECT_EQ(paper_time(spec, costs, {}).sum, 0);
}

}  // namespace
}  // namespace chimera
