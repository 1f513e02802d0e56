#include "chimera/simulate/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <tuple>
#include <vector>

#include "chimera/schedule/lower.h"
#include "chimera/schedule/scheme.h"
#include "chimera/schedule/validate.h"
#include "chimera/simulate/link_bound.h"

namespace chimera {
namespace {

Schedule make(const ScheduleSpec& spec) { return make_schedule(spec).value(); }

Schedule two_workers(int micros) {
  return make({.scheme = "gpipe", .depth = 2, .micros = micros});
}

// With blocking sends a worker cannot compute while it sends.
TEST(Simulate, SendsMayOccupyTheirWorker) {
  for (const bool blocking : {false, true}) {
    const Schedule schedule =
        make_schedule({.scheme = "gpipe", .depth = 2, .micros = 3}).value();
    Costs costs = uniform_costs(schedule, {});
    costs.time_per_byte = 1;
    costs.stages[0].boundary_bytes = 0.5;
    costs.blocking_sends = blocking;
    // Three forwards (1.5 each if sends block), then message and forward of the
    // last one; three backwards of 2 (2.5), then message and backward of the
    // last one.
    const double expected = blocking ? 4.5 + 1 + 7.5 + 2 : 3.5 + 1 + 6.5 + 2;
    EXPECT_DOUBLE_EQ(simulate(lower(schedule), costs).makespan, expected);
  }
}

// With both of two cores busy each is slower by the contention; alone, a core
// has its full speed.
TEST(Simulate, BusyCoresDisturbEachOther) {
  Schedule schedule =
      make_schedule({.scheme = "1f1b", .depth = 1, .micros = 2}).value();
  const Costs costs = uniform_costs(schedule, {});
  const SimulateOptions options{.cores = 2, .contention = 0.25};
  EXPECT_DOUBLE_EQ(simulate(lower(schedule), costs, options).makespan, 6);
  schedule.width = 2;
  EXPECT_DOUBLE_EQ(simulate(lower(schedule), costs, options).makespan, 7.5);
  schedule.width = 4;
  EXPECT_DOUBLE_EQ(simulate(lower(schedule), costs, options).makespan, 15);
}

// A worker that waits for no other neither gains nor loses by jitter. Two
// workers that wait for each other after every action lose, and more so the
// more their times vary.
TEST(Simulate, JitterCostsWhereWorkersWaitForEachOther) {
  const auto lost = [](const Schedule& schedule, double jitter) {
    const Schedule lowered = lower(schedule);
    const Costs costs = uniform_costs(schedule, {});
    return expected_makespan(lowered, costs, {.jitter = jitter}) /
               simulate(lowered, costs).makespan -
           1;
  };
  const Schedule alone = make({.scheme = "1f1b", .depth = 1, .micros = 64});
  const Schedule pair = make({.scheme = "1f1b", .depth = 2, .micros = 64});
  EXPECT_EQ(lost(pair, 0), 0);
  EXPECT_NEAR(lost(alone, 0.1), 0, 0.005);
  EXPECT_GT(lost(pair, 0.05), 0.01);
  EXPECT_GT(lost(pair, 0.1), 1.5 * lost(pair, 0.05));
  // The slower of two normal times is 1 / sqrt(pi) deviations above the mean.
  EXPECT_LT(lost(pair, 0.1), 0.1 / std::sqrt(std::numbers::pi) * 1.2);
}

// Two copies wait for each other after each step, so the slower one counts.
TEST(Simulate, JitterCostsWhereCopiesWaitForEachOther) {
  Schedule alone = make({.scheme = "1f1b", .depth = 1, .micros = 4});
  const Costs costs = uniform_costs(alone, {});
  const auto expected = [&](int width, int steps) {
    alone.width = width;
    return expected_makespan(lower(alone), costs,
                             {.steps = steps, .jitter = 0.1}) /
           steps;
  };
  // Four forwards of 1 and backwards of 2: deviations of 0.1 each.
  const double deviation = 0.1 * std::sqrt(4 * (1.0 + 4.0));
  const double waiting = deviation / std::sqrt(std::numbers::pi);
  for (const int steps : {1, 8}) {
    EXPECT_NEAR(expected(2, steps) - expected(1, steps), waiting,
                0.4 * waiting);
  }
  EXPECT_GT(expected(8, 1), expected(2, 1));
}

TEST(Simulate, APlayCanBeRepeated) {
  const Schedule schedule = lower(two_workers(4));
  const Costs costs = uniform_costs(schedule, {});
  const auto play = [&](int number) {
    return simulate(schedule, costs, {.jitter = 0.1, .play = number}).makespan;
  };
  EXPECT_EQ(play(3), play(3));
  EXPECT_NE(play(3), play(4));
}

// The noise of an action does not depend on the order of actions.
TEST(Simulate, NoiseBelongsToTheAction) {
  const Schedule one =
      lower(make({.scheme = "gpipe", .depth = 2, .micros = 4}));
  const Schedule other =
      lower(make({.scheme = "1f1b", .depth = 2, .micros = 4}));
  const Costs costs = uniform_costs(one, {.latency = 0.5});
  const auto times = [&](const Schedule& schedule) {
    std::vector<std::tuple<Op, int, int, double>> all;
    for (const Event& event :
         simulate(schedule, costs, {.jitter = 0.2}).trace.events) {
      if (is_vote(event.action.op)) continue;  // its length is a wait
      const double time = std::round((event.end - event.start) * 1e9);
      all.emplace_back(event.action.op, event.action.stage, event.action.micro,
                       time);
    }
    std::sort(all.begin(), all.end());
    return all;
  };
  EXPECT_EQ(times(one), times(other));
  EXPECT_NE(std::get<3>(times(one)[0]), std::get<3>(times(one)[1]));
}

TEST(Simulate, PeriodsGrowWithJitter) {
  const auto period = [](int depth, double jitter) {
    const Schedule lowered =
        lower(make({.scheme = "1f1b", .depth = depth, .micros = 16}));
    return expected_period(lowered, uniform_costs(lowered, {.latency = 0.1}),
                           {.steps = 12, .jitter = jitter});
  };
  EXPECT_NEAR(period(1, 0.1), 48, 0.2);  // nobody waits
  const Schedule exact =
      lower(make({.scheme = "1f1b", .depth = 4, .micros = 16}));
  const Costs costs = uniform_costs(exact, {.latency = 0.1});
  EXPECT_EQ(period(4, 0), simulate(exact, costs, {.steps = 12}).period);
  EXPECT_GT(period(4, 0.05), 1.005 * period(4, 0));
  EXPECT_GT(period(4, 0.1), 1.005 * period(4, 0.05));
}

// The tied weight has a separate sum and update.
TEST(Simulate, TiedWeightsAreUpdatedOnceByEachHolder) {
  const auto makespan = [](const char* scheme, double update) {
    const Schedule schedule =
        make_schedule({.scheme = scheme, .depth = 2, .micros = 2}).value();
    Costs costs = uniform_costs(schedule, {});
    costs.tied_update = update;
    return simulate(lower(schedule, {.tied = true}), costs).makespan;
  };
  for (const char* scheme : {"1f1b", "chimera"}) {
    EXPECT_DOUBLE_EQ(makespan(scheme, 4), makespan(scheme, 0) + 4) << scheme;
  }
}

TEST(Simulate, BytesOccupyTheLinkAndLatencyDoesNot) {
  const Schedule schedule = two_workers(3);
  Costs costs = uniform_costs(schedule, {.latency = 1});
  // Three activations are sent at 1, 2 and 3. With latency alone the last one
  // arrives at 4. `first` is when worker 1 starts; its forwards then run back
  // to back.
  Simulation simulation = simulate(lower(schedule), costs);
  EXPECT_EQ(simulation.workers[1].first, 2);
  EXPECT_EQ(simulation.makespan, 4 + 1 + 6 + 1 + 2);
  // Two units of transfer each: the link is busy 1..3, 3..5, 5..7, so the
  // last arrives at 8; backwards run from 9 and come back one by one.
  costs.time_per_byte = 0.5;
  for (StageCosts& stage : costs.stages) stage.boundary_bytes = 4;
  simulation = simulate(lower(schedule), costs);
  EXPECT_EQ(simulation.workers[1].first, 4);
  EXPECT_EQ(simulation.workers[1].last, 8 + 1 + 6);
  EXPECT_EQ(simulation.makespan, 15 + 3 + 2);
  // The link to worker 1 starts at 1, carries three messages and is followed by
  // a latency, F and I there, a message of 3 back, I and W.
  EXPECT_EQ(link_bound(schedule, costs), 1 + 6 + 1 + 2 + 3 + 2);
}

TEST(Simulate, SumsOfOnePairRunOneAfterTheOther) {
  const Schedule schedule =
      make({.scheme = "chimera", .depth = 2, .micros = 2});
  const Costs costs = uniform_costs(schedule, {.sum_time = 3});
  const Simulation simulation =
      simulate(lower(schedule, {.sync = Sync::kEnd}), costs);
  EXPECT_EQ(simulation.makespan, 6 + 3 + 3);
}

TEST(Simulate, SumsByRabenseifnersFormula) {
  const Schedule schedule =
      make({.scheme = "1f1b", .depth = 1, .micros = 1, .width = 4});
  Costs costs = uniform_costs(schedule, {.latency = 0.5});
  costs.sum_time.reset();
  costs.time_per_byte = 0.25;
  costs.stages[0].gradient_bytes = 8;
  // 2 log2(4) 0.5 + 2 (3/4) 0.25 * 8 = 2 + 3.
  EXPECT_EQ(simulate(lower(schedule), costs).makespan, 3 + 5);
}

TEST(Simulate, EagerSumsHideBehindCompute) {
  const Schedule schedule =
      make({.scheme = "chimera", .depth = 8, .micros = 8});
  const Costs costs = uniform_costs(schedule, {.sum_time = 2});
  const double end =
      simulate(lower(schedule, {.sync = Sync::kEnd}), costs).makespan;
  const double eager = simulate(lower(schedule), costs).makespan;
  EXPECT_EQ(end, 36 + 4);  // both sums of a worker come after its last backward
  EXPECT_EQ(eager, 36 + 2);  // the sum of the far stage is hidden
}

TEST(Simulate, GatedUpdatesWaitForTheVote) {
  const Schedule schedule = make({.scheme = "1f1b", .depth = 4, .micros = 4});
  const Costs costs = uniform_costs(schedule, {.latency = 0.25});
  const double open = simulate(lower(schedule), costs).makespan;
  const double gated =
      simulate(lower(schedule, {.vote_gates_update = true}), costs).makespan;
  EXPECT_EQ(gated, open + 2 * 2 * 0.25);
}

// A late vote is known before the forwards that precede V have run, so it costs
// nothing. Updates that wait for the vote cost zb-v the overlap of its steps.
TEST(Simulate, ALateVoteCostsNothing) {
  for (const Scheme& scheme : schemes()) {
    if (!scheme.is_synchronous()) continue;
    const Schedule schedule =
        make({.scheme = std::string(scheme.name), .depth = 8, .micros = 16});
    const Costs costs = uniform_costs(schedule, {.update = 0.5});
    const auto period = [&](const LowerOptions& options) {
      return simulate(lower(schedule, options), costs, {.steps = 5}).period;
    };
    const double open = period({});
    EXPECT_EQ(period({.vote_gates_update = true, .late_vote = true}), open)
        << scheme.name;
    if (scheme.name != "zb-v") continue;
    EXPECT_GT(period({.vote_gates_update = true}), open + 1);
  }
}

// Two copies of one worker. Their vote takes longer than the one forward before
// V.
TEST(Simulate, WhatFollowsALateVoteWaitsForIt) {
  const Schedule schedule =
      make({.scheme = "gpipe", .depth = 1, .micros = 1, .width = 2});
  const Costs costs = uniform_costs(schedule, {.latency = 2});
  const Schedule late =
      lower(schedule, {.vote_gates_update = true, .late_vote = true});
  const Simulation simulation = simulate(late, costs, {.steps = 2});
  // F 0-1, B 1-3, vote 3-7; F 3-4, B 7-9.
  EXPECT_EQ(simulation.makespan, 9);
  std::string path;
  for (const int event : simulation.critical_path) {
    path += op_name(simulation.trace.events[event].action.op);
  }
  EXPECT_EQ(path, "FBNB");
}

TEST(Simulate, UpdatesOccupyTheWorker) {
  const Schedule schedule = two_workers(1);
  const Costs costs = uniform_costs(schedule, {.update = 5});
  const Simulation simulation = simulate(lower(schedule), costs);
  EXPECT_EQ(simulation.makespan, 6 + 5);
  EXPECT_EQ(simulation.workers[0].busy, 8);
}

TEST(Simulate, SharedCoresSlowEverybodyEqually) {
  // Two workers compute at the same time from 1 to 3 (GPipe's forwards) and
  // from 6 to 8 (backwards); on one core these intervals take twice as long.
  const Schedule schedule = make({.scheme = "gpipe", .depth = 2, .micros = 3});
  const Costs costs = uniform_costs(schedule, {.backward = 1});
  EXPECT_EQ(simulate(lower(schedule), costs).makespan, 8);
  EXPECT_EQ(simulate(lower(schedule), costs, {.cores = 2}).makespan, 8);
  EXPECT_EQ(simulate(lower(schedule), costs, {.cores = 1}).makespan, 12);
}

TEST(Simulate, CoresAboveTheWorkersChangeNothing) {
  for (const char* scheme : {"chimera", "zb-v", "1f1b", "hanayo"}) {
    const Schedule schedule =
        make({.scheme = scheme, .depth = 8, .micros = 16});
    const Costs costs = uniform_costs(schedule, {.latency = 0.1});
    const Schedule lowered = lower(schedule);
    EXPECT_NEAR(simulate(lowered, costs, {.cores = 8}).makespan,
                simulate(lowered, costs).makespan, 1e-9);
  }
}

TEST(Simulate, StepsDoNotMeetInABarrier) {
  // ZB-H2 has no bubble between a worker's first and last compute, so steps fit
  // together without gaps.
  const Schedule schedule = make({.scheme = "zb-h2", .depth = 4, .micros = 8});
  const Costs costs = uniform_costs(schedule, {});
  const Simulation simulation = simulate(lower(schedule), costs, {.steps = 4});
  EXPECT_EQ(simulation.period, 24);
  EXPECT_EQ(simulation.makespan, 3 * 24 + 27);
}

// Steps that end while the pipeline drains are shorter, because no forwards
// come between their backwards. They must not count towards the period.
TEST(Simulate, APeriodHasTheWholeWorkOfTheBusiestWorker) {
  for (const char* scheme : {"pipedream", "pipedream-2bw"}) {
    for (const int micros : {4, 6}) {
      const Schedule schedule =
          make({.scheme = scheme, .depth = 4, .micros = micros});
      for (int heavy = 0; heavy < 4; ++heavy) {
        Costs costs = uniform_costs(schedule, {});
        costs.stages[heavy] = {.forward = 2, .input_grad = 2, .weight_grad = 2};
        EXPECT_DOUBLE_EQ(simulate(lower(schedule), costs, {.steps = 8}).period,
                         micros * 6)
            << scheme << " N=" << micros << ", stage " << heavy;
      }
    }
  }
}

// A worker with a blocking send starts no sum before its bytes have left.
TEST(Simulate, SumsWaitForSendsThatBlock) {
  const Schedule schedule =
      make({.scheme = "chimera", .depth = 2, .micros = 2});
  Costs costs = uniform_costs(schedule, {});
  for (StageCosts& stage : costs.stages) stage.boundary_bytes = 1;
  costs.time_per_byte = 1;
  costs.sum_time = 100;
  costs.blocking_sends = true;
  const Simulation simulation =
      simulate(lower(schedule, {.sync = Sync::kEager}), costs);
  for (const Event& sum : simulation.trace.events) {
    if (sum.action.op != Op::kG) continue;
    for (const Event& sent : simulation.trace.events) {
      const bool is_before = is_send(sent.action.op) &&
                             sent.worker == sum.worker &&
                             sent.start < sum.start;
      EXPECT_FALSE(is_before && sent.end > sum.start);
    }
  }
  EXPECT_GT(simulation.makespan, 200);
}

// Two sums that start together: the first ends at its own rate, the second once
// the network card has passed the bytes of both. A single sum is not slowed
// down.
TEST(Simulate, SumsShareNetworkCards) {
  const Schedule schedule =
      make({.scheme = "chimera", .depth = 2, .micros = 2});
  Costs costs = uniform_costs(schedule, {});
  costs.sum_time.reset();
  costs.sums = SumCosts{.time_per_byte = 1, .node_time_per_byte = 0.75};
  for (StageCosts& stage : costs.stages) stage.gradient_bytes = 4;
  const Schedule lowered = lower(schedule, {.sync = Sync::kEnd});
  const Simulation simulation = simulate(lowered, costs);
  const double compute = 6;
  std::vector<double> ends;
  for (const Event& event : simulation.trace.events) {
    if (event.action.op != Op::kG || event.worker != 0) continue;
    EXPECT_EQ(event.start, compute);
    ends.push_back(event.end);
  }
  EXPECT_EQ(ends, (std::vector<double>{compute + 4, compute + 6}));
  EXPECT_EQ(simulation.makespan, compute + 6);
}

TEST(Simulate, MessagesOccupyTheirLinksWhateverTheirBytes) {
  const Schedule schedule = make({.scheme = "gpipe", .depth = 2, .micros = 4});
  Costs costs = uniform_costs(schedule, {.latency = 0.5});
  costs.time_per_message = 3;  // longer than a forward, so forwards queue
  const Simulation simulation = simulate(lower(schedule), costs);
  // The last of four messages leaves at 1 + 3 * 3; then a forward, four
  // backwards, the last message and its backward.
  EXPECT_EQ(simulation.makespan, 1 + 4 * 3 + 0.5 + 1 + 2 + 4 * 3 + 0.5 + 2);
}

TEST(Simulate, TheWindowBeginsWithTheFullPipe) {
  const Schedule schedule =
      make({.scheme = "pipedream", .depth = 4, .micros = 1});
  const Simulation simulation =
      simulate(lower(schedule), uniform_costs(schedule, {}), {.steps = 8});
  EXPECT_EQ(simulation.window, simulation.makespan - 3);
}

TEST(Simulate, CriticalPathAddsUpToTheMakespan) {
  for (const Scheme& scheme : schemes()) {
    const Schedule schedule =
        make({.scheme = std::string(scheme.name), .depth = 4, .micros = 8});
    const Costs costs =
        uniform_costs(schedule, {.latency = 0.3, .sum_time = 0.7});
    const Simulation simulation = simulate(lower(schedule), costs);
    double time = 0;
    double at = 0;
    for (const int index : simulation.critical_path) {
      const Event& event = simulation.trace.events[index];
      EXPECT_NEAR(event.start, at, 1e-9) << scheme.name;
      at = event.end;
      time += event.end - event.start;
    }
    EXPECT_NEAR(time, simulation.makespan, 1e-9) << scheme.name;
  }
}

TEST(Simulate, NoSchemeBeatsTheBound) {
  for (const Scheme& scheme : schemes()) {
    for (const double latency : {0.0, 0.2}) {
      const Schedule schedule =
          make({.scheme = std::string(scheme.name), .depth = 4, .micros = 8});
      const Costs costs = uniform_costs(schedule, {.latency = latency});
      for (const int steps : {1, 3}) {
        const Simulation simulation =
            simulate(lower(schedule), costs, {.steps = steps});
        EXPECT_LE(simulation.bound, simulation.makespan + 1e-9) << scheme.name;
        EXPECT_GE(simulation.bound, simulation.ideal) << scheme.name;
      }
    }
  }
}

TEST(Simulate, BoundIsThatOfThePlacement) {
  // 3N + skew, where the skew is D-1 for one pipe, D/2-1 for two pipes, and
  // half of that for a vee.
  const auto bound = [](const ScheduleSpec& spec) {
    const Schedule schedule = make(spec);
    return simulate(lower(schedule), uniform_costs(schedule, {})).bound;
  };
  EXPECT_EQ(bound({.scheme = "1f1b", .depth = 8, .micros = 8}), 24 + 7);
  EXPECT_EQ(bound({.scheme = "chimera", .depth = 8, .micros = 8}), 24 + 3);
  EXPECT_EQ(bound({.scheme = "chimera", .depth = 8, .micros = 8, .pipes = 4}),
            24 + 1);
  EXPECT_EQ(bound({.scheme = "zb-v", .depth = 8, .micros = 8}), 24 + 3.5);
  // One micro-batch: down and up the pipe, then the weights of stage 0.
  EXPECT_EQ(bound({.scheme = "1f1b", .depth = 8, .micros = 1}), 8 + 8 + 1);
}

TEST(Simulate, SameInputGivesTheSameTrace) {
  const Schedule schedule =
      make({.scheme = "chimera", .depth = 8, .micros = 24, .width = 2});
  Costs costs = uniform_costs(schedule, {.latency = 0.1, .sum_time = 1});
  costs.time_per_byte = 0.1;
  for (StageCosts& stage : costs.stages) stage.boundary_bytes = 3;
  const Schedule lowered = lower(schedule);
  const SimulateOptions options{.steps = 3, .cores = 3};
  EXPECT_TRUE(simulate(lowered, costs, options).trace ==
              simulate(lowered, costs, options).trace);
}

// Schedules from files may recompute only some stages, and update early.
TEST(Simulate, TheBoundCountsOnlyTheRecomputationsThereAre) {
  const Schedule made =
      make({.scheme = "planned", .depth = 2, .micros = 2, .pipes = 1});
  Schedule lowered = lower(made, {.recompute = true});
  for (ActionList& list : lowered.actions) {
    std::erase_if(list, [](const Action& action) {
      return action.op == Op::kR && action.stage == 1;
    });
  }
  const Simulation simulation = simulate(lowered, uniform_costs(made, {}));
  EXPECT_LE(simulation.bound, simulation.makespan);
}

TEST(Simulate, TheBoundKnowsThatUpdatesMayComeEarly) {
  const Schedule made = make({.scheme = "planned",
                              .depth = 2,
                              .micros = 1,
                              .pipes = 1,
                              .shape = Shape::kVee});
  Costs costs = uniform_costs(made, {});
  costs.stages[0].update = costs.stages[3].update = 1;
  Schedule lowered = lower(made);
  ActionList& list = lowered.actions[0];
  const auto is_last_update = [](const Action& action) {
    return action.op == Op::kU && action.stage == 3;
  };
  const auto update = std::find_if(list.begin(), list.end(), is_last_update);
  ASSERT_NE(update, list.end());
  const Action early = *update;
  list.erase(update);
  const auto weight_grad =
      std::find_if(list.begin(), list.end(), [](const Action& action) {
        return action.op == Op::kW && action.stage == 3;
      });
  list.insert(weight_grad + 1, early);
  ASSERT_TRUE(validate(lowered).empty());
  const Simulation simulation = simulate(lowered, costs);
  EXPECT_LE(simulation.bound, simulation.makespan);
}

}  // namespace
}  // namespace chimera
