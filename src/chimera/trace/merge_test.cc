#include "chimera/trace/merge.h"

#include <gtest/gtest.h>

#include "chimera/schedule/jitter.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/scheme.h"
#include "chimera/trace/measure.h"

namespace chimera {
namespace {

Schedule two_stages() {
  return lower(
      make_schedule({.scheme = "gpipe", .depth = 2, .micros = 1}).value());
}

Event event(const Action& action, int worker, double start, double end) {
  return {.action = action, .worker = worker, .start = start, .end = end};
}

constexpr Action kF0{.op = Op::kF, .pipe = 0, .stage = 0, .micro = 0};
constexpr Action kF1{.op = Op::kF, .pipe = 0, .stage = 1, .micro = 0};
constexpr Action kB1{.op = Op::kB, .pipe = 0, .stage = 1, .micro = 0};
constexpr Action kB0{.op = Op::kB, .pipe = 0, .stage = 0, .micro = 0};

// Rank 1 has recorded the activation it received, rank 0 the gradient it
// received.
std::vector<std::vector<Event>> seen() {
  Action send_forward = kF0;
  send_forward.op = Op::kSF;
  send_forward.peer = 1;
  Action send_back = kB1;
  send_back.op = Op::kSB;
  send_back.peer = 0;
  return {
      {event(kF0, 0, 0, 1), event(send_back, 1, 5, 6), event(kB0, 0, 6, 8)},
      {event(send_forward, 0, 1, 2), event(kF1, 1, 2, 3), event(kB1, 1, 3, 5)}};
}

TEST(MergeRanks, OrdersByTimeAndFindsCauses) {
  const Trace trace = merge_ranks(two_stages(), seen(), 1);
  ASSERT_EQ(trace.events.size(), 6U);
  for (int at = 0; at < 6; ++at) {
    // Each event waited for the one before it: F, message, F, B, message, B.
    EXPECT_EQ(trace.events[at].cause, at - 1) << at;
  }
  EXPECT_EQ(critical_path(trace), (std::vector<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(makespan(trace), 8);
}

// An update that does not wait for the vote may start while the vote of the
// previous step is still open.
TEST(MergeRanks, UpdateWaitsForVoteOnlyWhereItIsGated) {
  const Action update{.op = Op::kU, .stage = 0};
  for (const bool gated : {false, true}) {
    const Schedule schedule = lower(
        make_schedule({.scheme = "gpipe", .depth = 1, .micros = 1}).value(),
        {.vote_gates_update = gated});
    const Trace trace =
        merge_ranks(schedule,
                    {{event({.op = Op::kN}, 0, 0, 3), event(kF0, 0, 1, 2),
                      event(update, 0, 3, 4)}},
                    1);
    EXPECT_EQ(trace.events[2].action.op, Op::kU);
    EXPECT_EQ(trace.events[2].cause, gated ? 0 : 1);
  }
}

// A late vote is the cause of the compute after V if it came last, and of no
// compute that started before it was known.
TEST(MergeRanks, AComputeMayWaitForALateVote) {
  const Schedule schedule =
      lower(make_schedule({.scheme = "gpipe", .depth = 1, .micros = 1}).value(),
            {.vote_gates_update = true, .late_vote = true});
  const auto cause_of_backward = [&](double known) {
    std::vector<Event> events = {event({.op = Op::kN}, 0, 0, known),
                                 event(kF0, 0, 1, 2), event(kB0, 0, 4, 5)};
    events[1].step = events[2].step = 1;
    return merge_ranks(schedule, {events}, 2).events[2].cause;
  };
  EXPECT_EQ(cause_of_backward(3), 0);
  EXPECT_EQ(cause_of_backward(1.5), 1);
  EXPECT_EQ(cause_of_backward(6), 1);
}

// Schedules number workers within a copy; a trace numbers them over all copies.
TEST(MergeRanks, NamesPeersByRank) {
  Schedule schedule = two_stages();
  schedule.width = 2;
  std::vector<std::vector<Event>> ranks = seen();
  for (std::vector<Event> rank : seen()) {
    for (Event& each : rank) each.worker += 2;
    ranks.push_back(rank);
  }
  const Trace trace = merge_ranks(schedule, ranks, 1);
  EXPECT_EQ(trace.workers, 4);
  std::vector<std::pair<int, int>> messages;  // (from, to)
  for (const Event& each : trace.events) {
    if (!is_send(each.action.op)) continue;
    messages.push_back({each.worker, each.action.peer});
  }
  EXPECT_EQ(messages,
            (std::vector<std::pair<int, int>>{{0, 1}, {2, 3}, {1, 0}, {3, 2}}));
}

TEST(Measure, TakesMediansByStage) {
  const Trace trace = merge_ranks(two_stages(), seen(), 1);
  const Costs costs = measured_costs(two_stages(), trace);
  EXPECT_EQ(costs.stages[0].forward, 1);
  EXPECT_EQ(costs.stages[1].input_grad + costs.stages[1].weight_grad, 2);
  EXPECT_EQ(costs.stages[0].input_grad, 1);
  EXPECT_EQ(costs.stages[0].update, 0);
}

// Log-normal times with a known deviation; an outlier changes little.
TEST(Measure, JitterIsTheDeviationOfComputes) {
  const Jitter jitter(0.1, 1);
  Trace trace{.workers = 1, .pipes = 1, .steps = 400};
  for (int step = 0; step < trace.steps; ++step) {
    for (const Op op : {Op::kF, Op::kW}) {
      const Action action{.op = op, .pipe = 0, .stage = 0, .micro = 0};
      const double time =
          (op == Op::kF ? 1 : 3) * (jitter.factor(action, step));
      trace.events.push_back({.action = action, .step = step, .end = time});
    }
  }
  EXPECT_NEAR(measured_jitter(trace), 0.1, 0.01);
  trace.events[5].end *= 1000;
  EXPECT_NEAR(measured_jitter(trace), 0.1, 0.01);
  EXPECT_EQ(measured_jitter(Trace{}), 0);
}

TEST(Measure, OneStepStartsAtZeroAndStandsBesideAnother) {
  std::vector<std::vector<Event>> later = seen();
  for (std::vector<Event>& rank : later) {
    for (Event& each : rank) {
      each.step = 3;
      each.start += 10;
      each.end += 10;
    }
  }
  const Trace trace = merge_ranks(two_stages(), later, 4);
  const Trace step = one_step(trace, 3, 2);
  EXPECT_EQ(step.events.size(), 6U);
  EXPECT_EQ(step.events[0].start, 0);
  EXPECT_EQ(makespan(step), 8);
  EXPECT_TRUE(one_step(trace, 2, 2).events.empty());
  EXPECT_EQ(one_step(trace, 3, 1).events.size(), 3U);
  const Trace both = side_by_side(step, step);
  EXPECT_EQ(both.workers, 4);
  EXPECT_EQ(both.events.back().worker, 2);
  EXPECT_EQ(both.events[7].action.op, Op::kSF);
  EXPECT_EQ(both.events[7].action.peer, 3);
}

}  // namespace
}  // namespace chimera
