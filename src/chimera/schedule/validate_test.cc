#include "chimera/schedule/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "chimera/schedule/forms.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/scheme.h"

namespace chimera {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Schedule parse(const std::string& text) {
  return parse_sched("chimera-schedule-1\nscheme custom\n" + text, "test")
      .value();
}

std::vector<std::string> reasons(const Schedule& schedule,
                                 const ValidateOptions& options = {}) {
  std::vector<std::string> texts;
  for (const Violation& violation : validate(schedule, options)) {
    texts.push_back(to_string(to_diagnostic(violation)));
  }
  return texts;
}

const char* kTwoWorkers = "depth 2\nmicros 2\npipe 0: 0 1\n";

TEST(Validate, AcceptsAHandWrittenSchedule) {
  EXPECT_THAT(reasons(parse(std::string(kTwoWorkers) +
                            "worker 0: 0F0 0F1 0B0 0B1\n"
                            "worker 1: 1F0 1B0 1F1 1I1 1W1\n")),
              IsEmpty());
}

TEST(Validate, RejectsBackwardBeforeForward) {
  EXPECT_THAT(
      reasons(parse(std::string(kTwoWorkers) + "worker 0: 0F0 0F1 0B0 0B1\n"
                                               "worker 1: 1F0 1B1 1B0 1F1\n")),
      Contains("error[E306] worker 1, action 1 (1B1): stands before "
               "its forward, 1F1 (worker 1, action 3)"));
}

TEST(Validate, ReportsEverythingAtOnce) {
  const std::vector<std::string> found =
      reasons(parse(std::string(kTwoWorkers) + "worker 0: 0F0 0F0 0B0 1F1\n"
                                               "worker 1: 1F0 1B0 1I1\n"));
  EXPECT_THAT(found, Contains(HasSubstr("E304] worker 0, action 1 (0F0)")));
  EXPECT_THAT(found, Contains(HasSubstr("E302] worker 0, action 3 (1F1)")));
  EXPECT_THAT(found, Contains(HasSubstr("0F1 is missing")));
  EXPECT_THAT(found, Contains(HasSubstr("1F1 is missing")));
  EXPECT_THAT(found, Contains(HasSubstr("0B1 is missing")));
  EXPECT_THAT(found, Contains(HasSubstr("1W1 is missing")));
}

TEST(Validate, RejectsAMicroBatchInTwoPipes) {
  EXPECT_THAT(
      reasons(parse("depth 2\nmicros 1\npipe 0: 0 1\npipe 1: 1 0\n"
                    "worker 0: 0F0 1F0@1 1B0@1 0B0\nworker 1:\n")),
      Contains(HasSubstr("micro-batch 0 goes through pipe 0 elsewhere")));
}

TEST(Validate, PrintsTheCycle) {
  // Each worker needs the other's micro-batch first.
  EXPECT_THAT(reasons(parse("depth 2\nmicros 2\npipe 0: 0 1\npipe 1: 1 0\n"
                            "worker 0: 1F1@1 0F0 1B1@1 0B0\n"
                            "worker 1: 1F0 0F1@1 1B0 0B1@1\n")),
              ElementsAre(HasSubstr("waits for ever: ")));
}

TEST(Validate, RejectsSendsThatBlockForEver) {
  // A correct schedule except that worker 1 posts its receive after a send that
  // worker 0 can receive only after its own send.
  Schedule schedule = lower(
      make_schedule({.scheme = "chimera", .depth = 2, .micros = 2}).value());
  ASSERT_THAT(reasons(schedule), IsEmpty());
  const auto late_post = [](ActionList& list) {
    const auto post =
        std::find_if(list.begin(), list.end(),
                     [](const Action& action) { return action.op == Op::kRF; });
    const auto send =
        std::find_if(list.begin(), list.end(),
                     [](const Action& action) { return action.op == Op::kSF; });
    if (post < send) std::rotate(post, post + 1, send + 1);
  };
  late_post(schedule.actions[0]);
  late_post(schedule.actions[1]);
  EXPECT_THAT(reasons(schedule), ElementsAre(HasSubstr("E310")));
}

TEST(Validate, RejectsSumsInDifferentOrders) {
  Schedule schedule = lower(
      make_schedule({.scheme = "chimera", .depth = 2, .micros = 2}).value(),
      {.sync = Sync::kEnd});
  ActionList& list = schedule.actions[0];
  const auto first =
      std::find_if(list.begin(), list.end(),
                   [](const Action& action) { return action.op == Op::kG; });
  std::swap(*first, *(first + 1));
  EXPECT_THAT(reasons(schedule), ElementsAre(HasSubstr("E313")));
}

TEST(Validate, ALateRecomputationNamesTheSenderOfItsGradient) {
  Schedule schedule =
      lower(make_schedule({.scheme = "1f1b", .depth = 3, .micros = 1}).value(),
            {.recompute = true, .recompute_late = true});
  ASSERT_THAT(reasons(schedule), IsEmpty());
  const auto recompute = [&](int worker) -> Action& {
    ActionList& list = schedule.actions[worker];
    return *std::find_if(list.begin(), list.end(), [](const Action& action) {
      return action.op == Op::kR;
    });
  };
  recompute(1).peer = 0;
  EXPECT_THAT(reasons(schedule),
              ElementsAre(HasSubstr("waits for a gradient from the wrong "
                                    "worker; stage 2 is on worker 2")));
  recompute(1).peer = 2;
  recompute(2).peer = 1;
  EXPECT_THAT(reasons(schedule),
              ElementsAre(HasSubstr("the last stage gets none")));
}

TEST(Validate, ChecksTheCapOnlyWhereGiven) {
  const Schedule schedule =
      make_schedule({.scheme = "gpipe", .depth = 2, .micros = 3}).value();
  EXPECT_THAT(reasons(schedule), IsEmpty());
  EXPECT_THAT(reasons(schedule, {.cap = 3}), IsEmpty());
  EXPECT_THAT(reasons(schedule, {.cap = 2}),
              Contains(HasSubstr("holds 3 activations, the cap is 2")));
}

// Two activations wait for W when the third forward starts.
TEST(Validate, CapCountsTheShareThatWaitsForW) {
  Schedule schedule =
      make_schedule({.scheme = "gpipe", .depth = 1, .micros = 3}).value();
  const auto action = [](Op op, int micro) {
    return Action{.op = op, .pipe = 0, .stage = 0, .micro = micro};
  };
  schedule.actions = {{action(Op::kF, 0), action(Op::kF, 1), action(Op::kI, 0),
                       action(Op::kI, 1), action(Op::kF, 2), action(Op::kI, 2),
                       action(Op::kW, 0), action(Op::kW, 1),
                       action(Op::kW, 2)}};
  EXPECT_THAT(reasons(schedule, {.cap = 3}), IsEmpty());
  EXPECT_THAT(reasons(schedule, {.cap = 2}), SizeIs(1));
  EXPECT_THAT(reasons(schedule, {.cap = 2, .omega = {0.5}}), IsEmpty());
  EXPECT_THAT(reasons(schedule, {.cap = 2, .omega = {0.75}}),
              ElementsAre(HasSubstr("holds 2.5 activations, the cap is 2")));
}

TEST(Validate, CapCountsWorkInFlightOverSteps) {
  const Schedule schedule =
      make_schedule({.scheme = "pipedream", .depth = 4, .micros = 1}).value();
  EXPECT_THAT(reasons(schedule, {.cap = 4}), IsEmpty());
  EXPECT_THAT(reasons(schedule, {.cap = 3}),
              ElementsAre(HasSubstr("worker 0: holds 4 activations")));
}

TEST(Validate, TrustsNoCount) {
  Schedule schedule =
      make_schedule({.scheme = "1f1b", .depth = 2, .micros = 2}).value();
  schedule.micros = 2000000000;
  EXPECT_THAT(reasons(schedule), ElementsAre(HasSubstr("E300")));
  schedule.micros = 2;
  schedule.placement.worker_of[0][1] = 7;
  EXPECT_THAT(reasons(schedule), ElementsAre(HasSubstr("worker 7")));
}

TEST(Validate, RejectsAWorkerWithoutAStage) {
  EXPECT_THAT(reasons(parse("depth 2\nmicros 1\npipe 0: 0 0\n"
                            "worker 0: 0F0 1F0 1B0 0B0\nworker 1:\n")),
              ElementsAre("error[E300]: worker 1 holds no stage; every worker "
                          "must hold one"));
}

// Only the first and the last stage share a weight.
TEST(Validate, RejectsASumThatTiesOtherStages) {
  Schedule schedule =
      lower(make_schedule({.scheme = "1f1b", .depth = 4, .micros = 1}).value(),
            {.tied = true});
  ASSERT_THAT(reasons(schedule), IsEmpty());
  ASSERT_EQ(schedule.groups[0].members, (std::vector<Member>{{0, 0}, {0, 3}}));
  schedule.groups[0].members = {{0, 1}, {0, 2}};
  for (const int end : {0, 3}) {
    ActionList& from = schedule.actions[end];
    const auto sum =
        std::find_if(from.begin(), from.end(),
                     [](const Action& action) { return action.op == Op::kG; });
    ActionList& to = schedule.actions[end == 0 ? 1 : 2];
    const auto update =
        std::find_if(to.begin(), to.end(),
                     [](const Action& action) { return action.op == Op::kU; });
    to.insert(update, *sum);
    from.erase(sum);
  }
  EXPECT_THAT(reasons(schedule),
              ElementsAre(HasSubstr("E311]: group 0 ties other stages than "
                                    "the first and the last")));
}

// The two newest versions of the weights are kept. Step k uses the weights
// after k - 1 updates, so the update of step k - 2 must be done by then.
TEST(Validate, RejectsUpdatesThatLagBehindTheDoubleBuffer) {
  const auto reasons_of_rows = [](const char* rows) {
    return reasons(parse_csv(rows, "test").value());
  };
  EXPECT_THAT(reasons_of_rows("0F0,0B0~1,0U~1\n1F0,1B0,1U\n"), IsEmpty());
  EXPECT_THAT(reasons_of_rows("0B0~2,0U~2,0F0\n1F0,1B0~1,1U~1\n"), IsEmpty());
  EXPECT_THAT(
      reasons_of_rows("0F0,0B0~2,0U~2\n1F0,1B0~1,1U~1\n2F0,2B0,2U\n"),
      ElementsAre(HasSubstr("E312] worker 0, action 2 (0U~2): comes too late "
                            "for 0F0 (worker 0, action 0)")));
  EXPECT_THAT(reasons_of_rows("0B0~3,0U~3,0F0\n1F0,1B0~2,1U~2\n"),
              ElementsAre(HasSubstr("(0U~3): comes too late for 0F0"),
                          HasSubstr("(1U~2): comes too late for 1F0")));
}

TEST(Validate, AcceptsEvery2bwThatIsMade) {
  for (int depth = 1; depth <= 9; ++depth) {
    for (int micros = depth; micros <= 2 * depth + 1; ++micros) {
      for (const int width : {1, 2}) {
        const Schedule schedule = make_schedule({.scheme = "pipedream-2bw",
                                                 .depth = depth,
                                                 .micros = micros,
                                                 .width = width})
                                      .value();
        EXPECT_THAT(reasons(schedule), IsEmpty());
        EXPECT_THAT(reasons(lower(schedule)), IsEmpty());
      }
    }
  }
}

TEST(Validate, KeepsListsShort) {
  Schedule schedule =
      make_schedule({.scheme = "gpipe", .depth = 4, .micros = 200}).value();
  for (Action& action : schedule.actions[0]) action.micro = 0;
  EXPECT_LE(validate(schedule).size(), 300u);
}

// Worker 0's list is changed by `change`; V and its neighbours are found by op.
std::vector<std::string> reasons_of_late(
    const std::function<void(ActionList& list)>& change) {
  Schedule schedule = lower(
      make_schedule({.scheme = "chimera", .depth = 2, .micros = 2}).value(),
      {.vote_gates_update = true, .late_vote = true});
  EXPECT_THAT(reasons(schedule), IsEmpty());
  change(schedule.actions[0]);
  return reasons(schedule);
}

ActionList::iterator find_op(ActionList& list, Op op) {
  return std::find_if(list.begin(), list.end(),
                      [op](const Action& action) { return action.op == op; });
}

TEST(Validate, ALateVoteStandsOnEveryWorker) {
  EXPECT_THAT(reasons_of_late(
                  [](ActionList& list) { list.erase(find_op(list, Op::kV)); }),
              ElementsAre(HasSubstr("E307] worker 0: V is missing, which other "
                                    "workers have")));
  EXPECT_THAT(reasons_of_late(
                  [](ActionList& list) { find_op(list, Op::kV)->step = 0; }),
              Contains(HasSubstr("E301] worker 0, action 4 (V): waits for the "
                                 "vote of the step before: ~1")));
}

TEST(Validate, ALateVoteFindsTheGradientsOfTheStepBefore) {
  EXPECT_THAT(reasons_of_late([](ActionList& list) {
                const auto verdict = find_op(list, Op::kV);
                std::rotate(verdict, verdict + 1, find_op(list, Op::kB) + 1);
              }),
              ElementsAre(HasSubstr("(1B1@1): stands before V, which may need "
                                    "the gradients of the step before")));
}

TEST(Validate, NoMessageCrossesALateVote) {
  EXPECT_THAT(reasons_of_late([](ActionList& list) {
                const auto verdict = find_op(list, Op::kV);
                std::rotate(list.begin(), verdict, verdict + 1);
              }),
              ElementsAre(HasSubstr("(0SF0>1): stands behind V, and the post "
                                    "of its receive does not: 1RF0<0"),
                          HasSubstr("(0SF1@1>0): stands before V")));
}

TEST(Validate, ALateVoteDecidesAboutUpdates) {
  EXPECT_THAT(reasons_of_late([](ActionList& list) {
                const auto vote = find_op(list, Op::kN);
                std::rotate(vote, vote + 1, list.end());
              }),
              Contains(HasSubstr("(V~1): needs a vote that stands before the "
                                 "updates")));
}

}  // namespace
}  // namespace chimera
