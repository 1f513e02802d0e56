// Every scheme over a grid of layouts: it is valid before and after lowering,
// and the simulator agrees with the closed forms, where there are any, and
// always with the brute-force executor.
#include "tests/grid.h"

#include <gtest/gtest.h>

#include <optional>

#include "chimera/schedule/held.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/scheme.h"
#include "chimera/schedule/validate.h"
#include "chimera/simulate/simulate.h"
#include "tests/brute_force.h"

namespace chimera {
namespace {

using testing::grid;
using testing::text_of;

struct Times {
  double F;
  double B;
};

// The makespan of one step in closed form, if the scheme has one.
std::optional<double> closed_form(const ScheduleSpec& spec,
                                  const Times& times) {
  const double D = spec.depth;
  const double N = spec.micros;
  const double F = times.F;
  const double B = times.B;
  const double f = spec.pipes.value_or(2) / 2.0;
  const double v = spec.chunks.value_or(2);
  const bool unit = F == 1 && B == 2;
  if (spec.scheme == "gpipe" || spec.scheme == "1f1b") {
    return (N + D - 1) * (F + B);
  }
  if (spec.scheme == "interleaved") return (N + (D - 1) / v) * (F + B);
  if (spec.scheme == "gems" && B >= F) return D * F + N * D * B + (N - 1) * F;
  if (spec.scheme == "zb-h1" && N >= D && unit) return 3 * N + D - 1;
  if (spec.scheme == "zb-h2" && unit) return 3 * N + D - 1;
  if (spec.scheme == "zb-v" && N >= 2 * D - 1 && unit) {
    return 3 * N + (D - 1) / 2;
  }
  if (spec.scheme == "dualpipe" && unit) return 3 * N + D / 2 - 1;
  if (spec.scheme == "dualpipe-v" && unit) return 3 * N + (D - 1) / 2;
  if (spec.scheme == "looped-bfs" && N >= D) {
    return (N + (D - 1) / v) * (F + B);
  }
  if (spec.scheme == "bitpipe" && unit) {
    return 3 * N + D - 2 + (N / D - 1) * (D / 2 - 1);
  }
  if (spec.scheme == "hanayo" && unit && spec.micros % spec.depth == 0) {
    const double k = N / D;
    return v == 2 ? 4 * N + D - 1 - k : (7 * N + D - 1 - k) / 2;
  }
  if (spec.scheme == "1f1b-v" && unit && N >= D && spec.depth % 3 == 1) {
    return 3 * N + 5 * (D - 1) / 2;
  }
  if (spec.scheme == "planned") {
    const double pipes = *spec.pipes;
    const bool regular = N >= D && spec.micros % 2 == 0 &&
                         (pipes == 1 || spec.depth % *spec.pipes == 0);
    if (!unit || !regular) return std::nullopt;
    return 3 * N + (pipes == 1 ? D - 1 : D / pipes - 1) / v;
  }
  if (spec.scheme != "chimera" || F > B) return std::nullopt;
  const int units = spec.micros / spec.depth;
  const bool whole = spec.micros % spec.depth == 0;
  if (spec.scale == Scale::kHalving) {
    if (!whole || B != 2 * F) return std::nullopt;
    return (3 * N + D - 2) * F;
  }
  if (spec.scale == Scale::kDoubling && units >= 2) {
    if (!whole || units % 2 != 0) return std::nullopt;
    const double k = units / 2.0;
    return (N + D / 2 - 1) * (F + B) +
           (k - 1) * (D - 2) * std::max(0.0, B - 2 * F) +
           (D / 2 - 1) * std::max(0.0, B - 3 * F);
  }
  if (!whole) return std::nullopt;
  if (units == 1) return D * F + (D + D / f - 2) * B;
  if (f != 1) return std::nullopt;
  return D * F + (2 * D - 2) * B +
         (units - 1) * (D * (F + B) + (D - 2) * (B - F));
}

// The peak of held activations in closed form: the largest over all workers, if
// the scheme has one.
std::optional<double> most_held(const ScheduleSpec& spec) {
  const double D = spec.depth;
  const double N = spec.micros;
  const double v = spec.chunks.value_or(2);
  if (spec.scheme == "gpipe" || spec.scheme == "looped-bfs") return N;
  if (spec.scheme == "bitpipe") return D;
  if (spec.scheme == "v-half" && N >= D) return (spec.depth + 2) / 2;
  if (spec.scheme == "v-min" && N >= D) return (spec.depth + 4) / 3;
  if (spec.scheme == "1f1b-v" && N >= D) return 2 * spec.depth / 3 + 1;
  if (spec.scheme == "1f1b") return std::min(N, D);
  if (spec.scheme == "interleaved") {
    return std::min(N, (2 * (D - 1) + (v - 1) * D + 1) / v);
  }
  if (spec.scheme == "gems") return 1;
  if (spec.scheme == "zb-h1" && N >= D) return D;
  if (spec.scheme == "zb-h2") return 2 * D - 1;
  if (spec.scheme == "zb-v" && N >= 2 * D - 1) return D;
  if (spec.scheme == "dualpipe") return D + 1;
  if (spec.scheme == "dualpipe-v") return D + 0.5;
  const bool direct = spec.scale == Scale::kDirect;
  if (spec.scheme == "chimera" && N >= D && direct) return D;
  return std::nullopt;
}

std::string list(const std::vector<Violation>& violations) {
  std::string text;
  for (const Violation& violation : violations) {
    text += "\n" + to_string(to_diagnostic(violation));
  }
  return text;
}

TEST(Grid, EverySchemeValidatesBeforeAndAfterLowering) {
  for (const ScheduleSpec& spec : grid()) {
    const Schedule schedule = make_schedule(spec).value();
    auto violations = validate(schedule);
    ASSERT_TRUE(violations.empty()) << text_of(spec) << list(violations);
    violations = validate(lower(schedule));
    ASSERT_TRUE(violations.empty()) << text_of(spec) << list(violations);
  }
}

TEST(Grid, MakespansEqualTheClosedForms) {
  int compared = 0;
  for (const ScheduleSpec& spec : grid()) {
    const Schedule schedule = make_schedule(spec).value();
    const Schedule lowered = lower(schedule);
    for (const Times& times :
         {Times{1, 2}, Times{1, 1}, Times{1, 1.5}, Times{1, 3}, Times{1, 4}}) {
      const std::optional<double> expected = closed_form(spec, times);
      if (!expected) continue;
      const Costs costs =
          uniform_costs(schedule, {.forward = times.F, .backward = times.B});
      const double makespan = simulate(lowered, costs).makespan;
      ASSERT_NEAR(makespan, *expected, 1e-9 * *expected)
          << text_of(spec) << " F=" << times.F << " B=" << times.B;
      ++compared;
    }
  }
  EXPECT_GT(compared, 2000);
}

// The makespan with F = 1, B = 2.
double makespan_of(const ScheduleSpec& spec) {
  const Schedule schedule = make_schedule(spec).value();
  return simulate(lower(schedule), uniform_costs(schedule, {})).makespan;
}

TEST(Grid, HanayoIsNeverSlowerThanItsUnitRepeated) {
  int compared = 0;
  for (const ScheduleSpec& spec : grid()) {
    if (spec.scheme != "hanayo" || spec.micros <= spec.depth) continue;
    ScheduleSpec unit = spec;
    unit.micros = spec.depth;
    double repeated = spec.micros / spec.depth * makespan_of(unit);
    unit.micros = spec.micros % spec.depth;
    if (unit.micros > 0) repeated += makespan_of(unit);
    ASSERT_LE(makespan_of(spec), repeated + 1e-9) << text_of(spec);
    ++compared;
  }
  EXPECT_GT(compared, 50);
}

TEST(Grid, PeaksEqualTheClosedForms) {
  int compared = 0;
  for (const ScheduleSpec& spec : grid()) {
    const Schedule schedule = make_schedule(spec).value();
    const Simulation simulation =
        simulate(lower(schedule), uniform_costs(schedule, {}));
    const std::vector<double> held = peak_held(schedule);
    double most = 0;
    for (int worker = 0; worker < spec.depth; ++worker) {
      const double peak = simulation.workers[worker].peak_activations;
      most = std::max(most, peak);
      if (!is_asynchronous(schedule)) {
        ASSERT_EQ(peak, held[worker]) << text_of(spec) << " worker " << worker;
      } else {
        ASSERT_EQ(held[worker], spec.depth - worker) << text_of(spec);
      }
      if (spec.scheme == "1f1b") {
        ASSERT_EQ(peak, std::min(spec.micros, spec.depth - worker));
      }
      if (spec.scheme == "zb-h1" && spec.micros >= spec.depth) {
        ASSERT_EQ(peak, spec.depth);
      }
      if (spec.scheme == "planned") {
        ASSERT_LE(peak, std::max(spec.depth, *spec.pipes));
      }
      if (spec.scheme == "hanayo") {
        ASSERT_LE(peak, spec.depth);
      }
    }
    if (const std::optional<double> expected = most_held(spec)) {
      ASSERT_NEAR(most, *expected, 1e-9) << text_of(spec);
      ++compared;
    }
  }
  EXPECT_GT(compared, 500);
}

void expect_same_execution(const Schedule& lowered, const Costs& costs,
                           int steps) {
  const Simulation simulation = simulate(lowered, costs, {.steps = steps});
  const testing::Execution execution =
      testing::execute(lowered, costs, {.steps = steps});
  ASSERT_TRUE(testing::is_right(execution)) << testing::to_text(execution);
  ASSERT_NEAR(simulation.makespan, execution.makespan, 1e-9);
  for (int worker = 0; worker < lowered.workers(); ++worker) {
    const WorkerStats& stats = simulation.workers[worker];
    ASSERT_NEAR(stats.busy, execution.busy[worker], 1e-9);
    ASSERT_NEAR(stats.first, execution.first[worker], 1e-9);
    ASSERT_NEAR(stats.last, execution.last[worker], 1e-9);
    ASSERT_NEAR(stats.peak_activations, execution.peak[worker], 1e-9);
  }
}

TEST(Grid, SimulatorEqualsTheBruteForceExecutor) {
  for (const ScheduleSpec& spec : grid()) {
    SCOPED_TRACE(text_of(spec));
    const Schedule schedule = make_schedule(spec).value();
    Costs costs = uniform_costs(schedule, {.latency = 0.25});
    // What is left of an activation after I differs from stage to stage.
    for (size_t stage = 0; stage < costs.stages.size(); ++stage) {
      costs.stages[stage].omega = std::vector{0.45, 1.0, 0.0}[stage % 3];
    }
    expect_same_execution(lower(schedule), costs, 1);
    if (HasFatalFailure()) return;
    if (is_asynchronous(schedule)) continue;
    const Simulation simulation = simulate(lower(schedule), costs);
    const std::vector<double> held = peak_held(schedule, omegas(costs));
    for (int worker = 0; worker < spec.depth; ++worker) {
      ASSERT_EQ(simulation.workers[worker].peak_activations, held[worker]);
    }
  }
}

// Messages that occupy their links whatever their bytes, and sums that share
// network cards.
Costs shared_costs(const Schedule& schedule) {
  Costs costs = uniform_costs(schedule, {.update = 0.125, .latency = 0.25});
  costs.time_per_message = 0.375;
  costs.sum_time.reset();
  costs.sums = SumCosts{
      .latency = 0.0625, .time_per_byte = 1, .node_time_per_byte = 0.75};
  for (size_t stage = 0; stage < costs.stages.size(); ++stage) {
    costs.stages[stage].gradient_bytes = 0.5 + static_cast<double>(stage % 3);
  }
  return costs;
}

// Two levels of links, with everything that shared_costs() has.
Costs costs_with_nodes(const Schedule& schedule, int ranks) {
  Costs costs = shared_costs(schedule);
  costs.time_per_byte = 0.125;
  costs.node =
      NodeCosts{.ranks = ranks, .latency = 0.03125, .time_per_byte = 0.0625};
  for (size_t stage = 0; stage < costs.stages.size(); ++stage) {
    costs.stages[stage].boundary_bytes = 1 + static_cast<double>(stage % 2);
  }
  return costs;
}

TEST(Grid, SimulatorEqualsTheBruteForceExecutorWithNodes) {
  int compared = 0;
  int faster = 0;
  for (ScheduleSpec spec : grid()) {
    if (spec.depth * spec.micros > 64) continue;
    for (const int ranks : {1, 2, 3, 4, 8}) {
      spec.width = 1 + compared++ % 3;
      SCOPED_TRACE(text_of(spec) + " nodes of " + std::to_string(ranks));
      const Schedule schedule = make_schedule(spec).value();
      const Schedule lowered = lower(schedule);
      const int steps = is_asynchronous(schedule) ? 4 : 2;
      Costs costs = costs_with_nodes(schedule, ranks);
      if (compared % 2 == 0) costs.node->distribution = Distribution::kCyclic;
      expect_same_execution(lowered, costs, steps);
      if (HasFatalFailure()) return;
      const double with = simulate(lowered, costs).makespan;
      costs.node.reset();
      faster += with < simulate(lowered, costs).makespan ? 1 : 0;
    }
  }
  EXPECT_GT(compared, 1000);
  EXPECT_GT(faster, 500);
}

// Sums of other systems, late recomputation and shared costs, each with the
// others. Lists that are too long for the many cases are left to the test
// above.
TEST(Grid, SimulatorEqualsTheBruteForceExecutorWithEveryOption) {
  int compared = 0;
  for (ScheduleSpec spec : grid()) {
    if (spec.depth * spec.micros > 64) continue;
    spec.width = 1 + compared % 2;
    SCOPED_TRACE(text_of(spec));
    const Schedule schedule = make_schedule(spec).value();
    const int steps = is_asynchronous(schedule) ? 4 : 2;
    for (const Sync sync : {Sync::kEagerOpt, Sync::kDdp, Sync::kBlocking}) {
      for (const bool late : {false, true}) {
        const LowerOptions options{
            .sync = sync, .recompute = late, .recompute_late = late};
        if (!check_lowering(schedule, options).empty()) continue;
        const Schedule lowered = lower(schedule, options);
        const auto violations = validate(lowered);
        ASSERT_TRUE(violations.empty()) << list(violations);
        expect_same_execution(lowered, shared_costs(schedule), steps);
        if (HasFatalFailure()) return;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 500);
}

}  // namespace
}  // namespace chimera
