#include "chimera/simulate/period_bound.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <map>

#include "chimera/schedule/held.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/scheme.h"
#include "chimera/simulate/bound.h"
#include "chimera/simulate/simulate.h"

namespace chimera {
namespace {

struct Times {
  double F;
  double I;
  double W;
  double c;  // time of a message
};

UniformTimes uniform(const Times& times) {
  return {.forward = times.F,
          .backward = times.I + times.W,
          .weight_grad = times.W,
          .latency = times.c};
}

double bound_of(ScheduleSpec spec, const Times& times) {
  spec.scheme = "planned";
  if (!spec.cap) spec.cap = spec.depth;
  const Schedule schedule = make_schedule(spec).value();
  return period_bound(lower(schedule), uniform_costs(schedule, uniform(times)),
                      {.cap = spec.cap});
}

double bubble_of(const ScheduleSpec& spec, const Times& times) {
  const double work = spec.micros * (times.F + times.I + times.W);
  return 1 - work / bound_of(spec, times);
}

// The expected values come from an independent program, for measured costs.
TEST(PeriodBound, EqualsTheValuesOfAnIndependentProgram) {
  struct Row {
    int depth;
    int micros;
    Times times;
    double two_linear;
    double vee;
  };
  for (const Row& row :
       {Row{8, 32, {18.513, 18.086, 9.331, 0.626}, 0.0373, 0.0543},
        Row{8, 64, {29.935, 29.621, 19.388, 0.535}, 0.0105, 0.0166},
        Row{16, 64, {11.307, 11.254, 8.101, 0.379}, 0.0263, 0.0381}}) {
    ScheduleSpec spec{.depth = row.depth, .micros = row.micros, .pipes = 2};
    EXPECT_NEAR(bubble_of(spec, row.times), row.two_linear, 5e-5);
    spec.shape = Shape::kVee;
    spec.pipes = 1;
    EXPECT_NEAR(bubble_of(spec, row.times), row.vee, 5e-5);
  }
  const ScheduleSpec one{.depth = 8, .micros = 32, .pipes = 1, .cap = 16};
  EXPECT_NEAR(bubble_of(one, {18.513, 18.086, 9.331, 0.626}), 0.0784, 5e-5);
}

// Periods that an exact solver proved optimal. For two vees it found 183, so
// the bound is not tight there.
TEST(PeriodBound, IsWhatAnExactSolverFindsOnFourWorkers) {
  ScheduleSpec spec{.depth = 4, .micros = 8, .pipes = 2};
  EXPECT_NEAR(bound_of(spec, {2, 2, 1, 0}), 41, 1e-9);
  EXPECT_NEAR(bound_of(spec, {2, 2, 1, 1}), 49, 1e-9);
  spec.shape = Shape::kVee;
  EXPECT_NEAR(bound_of(spec, {8, 8, 6, 1}), 182, 1e-9);
}

// One pipe, D = 4, cap 8: the last worker waits 13 after its last I. It then
// has 8 W to run if an activation that waits for its W is held whole (omega 1),
// and 1 + 7 / omega of them otherwise.
TEST(PeriodBound, CountsWhatIsHeldBetweenTheHalves) {
  const ScheduleSpec spec{
      .scheme = "planned", .depth = 4, .micros = 16, .pipes = 1, .cap = 8};
  const Schedule schedule = make_schedule(spec).value();
  const auto bound = [&](double omega) {
    const Costs costs = uniform_costs(
        schedule,
        {.forward = 2, .backward = 3, .weight_grad = 1, .omega = omega});
    return period_bound(lower(schedule), costs, {.cap = spec.cap});
  };
  EXPECT_NEAR(bound(1), 80 + 5, 1e-9);
  EXPECT_NEAR(bound(0.75), 80 + 3, 1e-9);
  EXPECT_NEAR(bound(0.5), 80, 1e-9);
  EXPECT_NEAR(bound(0), 80, 1e-9);
}

// With F = I = W and free messages zero-bubble orders exist at a large enough
// cap: the bound then equals the work.
TEST(PeriodBound, IsTheWorkWhereTheCapIsLargeEnough) {
  for (const int depth : {4, 6, 8, 16}) {
    const int micros = 4 * depth;
    const ScheduleSpec spec{.depth = depth, .micros = micros, .pipes = 2};
    EXPECT_NEAR(bound_of(spec, {1, 1, 1, 0}), 3 * micros, 1e-9);
    // F = I, W = F/2: no idle time at cap 2D-3, at least (D-3)W at cap D.
    ScheduleSpec roomy = spec;
    roomy.cap = 2 * depth - 3;
    EXPECT_NEAR(bound_of(roomy, {2, 2, 1, 0}), 5 * micros, 1e-9);
    EXPECT_NEAR(bound_of(spec, {2, 2, 1, 0}), 5 * micros + depth - 3, 1e-9);
  }
}

// Forwards that are recomputed are not held, even if they take no time.
TEST(PeriodBound, IsContinuousWhereRecomputingIsFree) {
  const Schedule order =
      make_schedule(
          {.scheme = "planned", .depth = 3, .micros = 3, .pipes = 1, .cap = 1})
          .value();
  const Schedule lowered = lower(order, {.recompute = true});
  Costs costs{.stages = {{.forward = 0, .input_grad = 0.5, .weight_grad = 0.2},
                         {.forward = 0.4, .input_grad = 0.4, .weight_grad = 0},
                         {.forward = 0, .input_grad = 0, .weight_grad = 0}},
              .latency = 0.2};
  const double free = period_bound(lowered, costs, {.cap = 1});
  EXPECT_LE(free, 4.7 + 1e-9);  // an order was found that takes 4.7
  costs.stages[0].forward = 1e-6;
  EXPECT_NEAR(period_bound(lowered, costs, {.cap = 1}), free, 1e-3);
}

// The longest time of any worker from its first forward to its first forward of
// the last step.
double time_of_steps(const Trace& trace) {
  // [worker]: start in the first and last step.
  std::map<int, std::pair<double, double>> first;
  for (const Event& event : trace.events) {
    if (event.action.op != Op::kF) continue;
    const auto entry = first.try_emplace(event.worker, 1e300, 1e300).first;
    auto& [start, last] = entry->second;
    if (event.step == 0) start = std::min(start, event.start);
    if (event.step + 1 == trace.steps) last = std::min(last, event.start);
  }
  double longest = 0;
  for (const auto& [worker, times] : first) {
    longest = std::max(longest, times.second - times.first);
  }
  return longest;
}

double least_work(const Schedule& lowered, const Costs& costs) {
  double least = 1e300;
  for (const ActionList& list : lowered.actions) {
    double work = 0;
    for (const Action& action : list) work += compute_time(costs, action, 1);
    least = std::min(least, work);
  }
  return least;
}

double time_up_to(int most) { return *rc::gen::inRange(0, 10 * most) / 10.0; }

Costs any_costs(const Schedule& schedule) {
  Costs costs;
  const bool equal = *rc::gen::arbitrary<bool>();
  for (int stage = 0; stage < schedule.stages(); ++stage) {
    StageCosts& cost = costs.stages.emplace_back();
    if (stage > 0 && equal) {
      cost = costs.stages[0];
      continue;
    }
    cost.forward = 0.5 + time_up_to(3);
    cost.input_grad = 0.5 + time_up_to(3);
    cost.weight_grad = time_up_to(3);
    cost.update = *rc::gen::arbitrary<bool>() ? time_up_to(2) : 0;
    cost.boundary_bytes = time_up_to(3);
    cost.omega = *rc::gen::element(0.0, 0.3, 0.45, 1.0);
  }
  costs.time_per_byte = *rc::gen::arbitrary<bool>() ? time_up_to(2) : 0;
  costs.latency = time_up_to(2);
  costs.sum_time = *rc::gen::arbitrary<bool>() ? time_up_to(8) : 0;
  return costs;
}

// RC_PARAMS="max_success=20000" tries 20,000 cases.
RC_GTEST_PROP(Bounds, AreNeverAboveWhatAScheduleTakes, ()) {
  const Scheme scheme = *rc::gen::elementOf(schemes());
  RC_PRE(scheme.is_synchronous());
  ScheduleSpec spec{.scheme = std::string(scheme.name),
                    .depth = *rc::gen::inRange(1, 9),
                    .micros = *rc::gen::inRange(1, 25),
                    .width = *rc::gen::inRange(1, 3)};
  if (scheme.any_shape) {
    spec.pipes = *rc::gen::element(1, 2);
    spec.shape = *rc::gen::element(Shape::kLinear, Shape::kVee, Shape::kLoop);
  }
  if (scheme.any_scale) {
    spec.scale = *rc::gen::element(Scale::kDirect, Scale::kDoubling);
  }
  RC_PRE(resolve(spec).ok());
  const Schedule schedule = make_schedule(spec).value();
  const Costs costs = any_costs(schedule);
  const Schedule lowered = lower(
      schedule, {.sync = *rc::gen::element(Sync::kEager, Sync::kEnd),
                 .recompute = *rc::gen::arbitrary<bool>(),
                 .tied = *rc::gen::arbitrary<bool>() && schedule.stages() > 1,
                 .vote_gates_update = *rc::gen::arbitrary<bool>(),
                 .costs = &costs});
  const std::vector<double> held = peak_held(lowered, omegas(costs));
  const double cap = *std::max_element(held.begin(), held.end());
  const double bound = period_bound(lowered, costs, {.cap = cap});
  const double step_bound = lower_bound(lowered, costs, {.cap = cap});
  RC_ASSERT(simulate(lowered, costs).makespan >= step_bound - 1e-6);
  constexpr int kSteps = 6;
  const Simulation simulation = simulate(lowered, costs, {.steps = kSteps + 1});
  const double idle = bound - least_work(lowered, costs);
  RC_ASSERT(time_of_steps(simulation.trace) >= kSteps * bound - idle - 1e-6);
}

}  // namespace
}  // namespace chimera
