// Every schedule runs on the real runtime and transport over emulated stages,
// which check that activations, gradients, stashes and sums reach their place.
// The trace must agree with the simulated one.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "chimera/exec/emulated.h"
#include "chimera/exec/emulated_links.h"
#include "chimera/exec/run_threads.h"
#include "chimera/exec/worker.h"
#include "chimera/schedule/held.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/validate.h"
#include "chimera/simulate/simulate.h"
#include "chimera/trace/merge.h"
#include "tests/grid.h"

namespace chimera {
namespace {

struct RunResult {
  Trace trace;
  std::vector<double> peaks;  // [rank]
};

RunResult run(const Schedule& lowered, int steps, const Costs& costs = {}) {
  const int ranks = num_ranks(lowered);
  std::vector<std::vector<Event>> events(ranks);
  RunResult result;
  result.peaks.resize(ranks);
  const Clock::time_point epoch = Clock::now();
  const std::vector<EmulatedStage> stages(
      lowered.stages(), {.boundary_bytes = 40, .gradient_bytes = 400});
  run_workers(
      {.ranks = ranks,
       .deadline = std::chrono::seconds(60),
       .links = make_emulated_links(costs, ranks)},
      [&](int) { return make_emulated(lowered, stages); },
      [&](Transport& transport, StageCompute& compute) {
        Worker worker(transport, compute,
                      {.recorder = {.keep_events = true, .epoch = epoch}});
        const Program program(lowered, transport.rank());
        EXPECT_EQ(worker.run(program, {.end = steps}), steps);
        events[transport.rank()] = worker.recorder().events();
        result.peaks[transport.rank()] = worker.peak_activations();
      });
  result.trace = merge_ranks(lowered, events, steps);
  return result;
}

using Deed = std::tuple<int, Op, int, int, int, int>;

Deed deed_of(const Event& event) {
  const Action& action = event.action;
  return {event.worker,
          action.op,
          action.op == Op::kG ? action.group : action.stage,
          action.micro,
          action.part,
          event.step};
}

// How often each action was computed or sent: (worker of copy 0, op, ...).
std::map<Deed, int> deeds(const Trace& trace, int workers) {
  std::map<Deed, int> counts;
  for (const Event& event : trace.events) {
    const Op op = event.action.op;
    if (event.worker >= workers) continue;
    if (is_compute(op) || is_send(op)) ++counts[deed_of(event)];
  }
  return counts;
}

void expect_runs_as_simulated(const Schedule& lowered, int steps) {
  const Simulation simulation =
      simulate(lowered, uniform_costs(lowered, {}), {.steps = steps});
  const RunResult result = run(lowered, steps);
  const int workers = lowered.workers();
  EXPECT_EQ(deeds(result.trace, workers), deeds(simulation.trace, workers));
  for (int rank = 0; rank < num_ranks(lowered); ++rank) {
    EXPECT_EQ(result.peaks[rank],
              simulation.workers[rank % workers].peak_activations)
        << "rank " << rank;
  }
  for (size_t at = 0; at < result.trace.events.size(); ++at) {
    EXPECT_LT(result.trace.events[at].cause, static_cast<int>(at));
  }
}

TEST(Runtime, EverySchemeRunsAndHoldsWhatWasSimulated) {
  for (const Scheme& scheme : schemes()) {
    for (const int depth : {1, 2, 4}) {
      const std::vector<int> micros = {1,         depth,         depth + 1,
                                       2 * depth, 2 * depth + 1, 4 * depth};
      for (const ScheduleSpec& spec : testing::layouts(scheme, depth, micros)) {
        SCOPED_TRACE(testing::text_of(spec));
        const Schedule schedule = make_schedule(spec).value();
        expect_runs_as_simulated(lower(schedule), 3);
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

// Widths, sync modes, recomputation, tied weights, the gated and the late vote,
// over one layout of every scheme.
TEST(Runtime, EveryWayOfLoweringRuns) {
  for (const Scheme& scheme : schemes()) {
    for (const int width : {1, 2, 3}) {
      for (const Sync sync : {Sync::kEagerOpt, Sync::kEager, Sync::kEnd}) {
        for (int bits = 0; bits < 12; ++bits) {
          LowerOptions options{.sync = sync,
                               .recompute = (bits & 1) != 0,
                               .tied = (bits & 2) != 0,
                               .vote_gates_update = bits >= 4,
                               .late_vote = bits >= 8};
          if (!scheme.is_synchronous() && bits > 1) continue;
          ScheduleSpec spec{.scheme = std::string(scheme.name),
                            .depth = 4,
                            .micros = 8,
                            .width = width};
          SCOPED_TRACE(testing::text_of(spec));
          const Schedule lowered = lower(make_schedule(spec).value(), options);
          ASSERT_TRUE(validate(lowered).empty());
          expect_runs_as_simulated(lowered, 2);
          if (::testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

// Messages and sums take as long on two levels of slow links as simulated.
TEST(Runtime, LinksWithinAndBetweenNodesTakeTheirTime) {
  for (const int width : {1, 2}) {
    for (const int node : {2, 4}) {
      SCOPED_TRACE(::testing::Message()
                   << "W=" << width << " nodes of " << node);
      const Schedule lowered = lower(
          make_schedule(
              {.scheme = "chimera", .depth = 4, .micros = 4, .width = width})
              .value());
      Costs costs = uniform_costs(lowered, {});
      costs.sum_time.reset();
      costs.latency = 0.004;
      costs.node = NodeCosts{.ranks = node, .latency = 0.001};
      std::map<Deed, double> simulated;
      for (const Event& event : simulate(lowered, costs).trace.events) {
        simulated[deed_of(event)] = event.end - event.start;
      }
      int compared = 0;
      for (Event event : run(lowered, 1, costs).trace.events) {
        event.worker %= lowered.workers();
        const double took = event.end - event.start;
        if (is_send(event.action.op)) {
          EXPECT_NEAR(took, simulated.at(deed_of(event)), 1e-6);
        } else if (event.action.op == Op::kG) {
          EXPECT_GE(took, simulated.at(deed_of(event)) - 1e-6);
        } else {
          continue;
        }
        ++compared;
      }
      EXPECT_GE(compared, 28 * width);
    }
  }
}

// (stage, step, micro) -> version that its forward used.
std::map<std::tuple<int, int, int>, int> forward_versions(const Trace& trace) {
  std::map<std::tuple<int, int, int>, int> versions;
  for (const Event& event : trace.events) {
    const Action& action = event.action;
    if (action.op != Op::kF) continue;
    versions[{action.stage, event.step, action.micro}] = event.version;
  }
  return versions;
}

// A backward uses the weights of its forward, whatever happened in between.
void expect_backwards_match(const Trace& trace) {
  const auto versions = forward_versions(trace);
  for (const Event& event : trace.events) {
    const Action& action = event.action;
    if (!is_backward(action.op)) continue;
    EXPECT_EQ(event.version,
              versions.at({action.stage, event.step, action.micro}));
  }
}

// PipeDream (SOSP'19): once the pipeline is full, stage s of D (from 0) uses
// weights that are D - 1 - s updates old.
TEST(Staleness, PipeDreamIsDMinusOneMinusSUpdatesBehind) {
  for (const int depth : {2, 4, 5}) {
    for (const int micros : {1, 2, 3}) {
      constexpr int kSteps = 12;
      const Schedule lowered =
          lower(make_schedule(
                    {.scheme = "pipedream", .depth = depth, .micros = micros})
                    .value());
      const Trace trace = run(lowered, kSteps).trace;
      for (const auto& [key, version] : forward_versions(trace)) {
        const auto& [stage, step, micro] = key;
        const int number = step * micros + micro;  // of the micro-batch
        EXPECT_EQ(version, std::max(0, number - (depth - 1 - stage)))
            << "D=" << depth << " N=" << micros << " stage " << stage
            << " micro-batch " << number;
      }
      expect_backwards_match(trace);
    }
  }
}

// PipeDream-2BW (ICML'21): W(t+1) = W(t) - lr * gradient(W(t-1)) on all stages:
// a constant delay of one.
TEST(Staleness, TwoBufferedWeightsIsOneUpdateBehindEverywhere) {
  for (const int depth : {2, 4}) {
    for (const int micros : {depth, 2 * depth}) {
      constexpr int kSteps = 6;
      const Schedule lowered = lower(
          make_schedule(
              {.scheme = "pipedream-2bw", .depth = depth, .micros = micros})
              .value());
      const Trace trace = run(lowered, kSteps).trace;
      for (const auto& [key, version] : forward_versions(trace)) {
        EXPECT_EQ(version, std::max(0, std::get<1>(key) - 1));
      }
      expect_backwards_match(trace);
    }
  }
}

TEST(Staleness, SynchronousSchemesHaveNone) {
  for (const Scheme& scheme : schemes()) {
    if (!scheme.is_synchronous()) continue;
    const Schedule lowered =
        lower(make_schedule(
                  {.scheme = std::string(scheme.name), .depth = 4, .micros = 8})
                  .value());
    const Trace trace = run(lowered, 4).trace;
    for (const Event& event : trace.events) {
      if (event.action.op == Op::kF || is_backward(event.action.op)) {
        EXPECT_EQ(event.version, event.step) << scheme.name;
      }
    }
  }
}

}  // namespace
}  // namespace chimera
