#include "chimera/schedule/lower.h"

#include <gtest/gtest.h>

#include <set>

#include "chimera/base/text.h"
#include "chimera/schedule/cell.h"
#include "chimera/schedule/held.h"
#include "chimera/schedule/scheme.h"
#include "chimera/schedule/small_schedule_for_tests.h"
#include "chimera/schedule/sum_plan.h"
#include "chimera/schedule/validate.h"

namespace chimera {
namespace {

std::string cells(const ActionList& list) {
  std::vector<std::string> words;
  for (const Action& action : list) words.push_back(to_cell(action));
  return join(words, " ");
}

Schedule chimera_of(int depth, int micros, int pipes = 2, int width = 1) {
  return make_schedule({.scheme = "chimera",
                        .depth = depth,
                        .micros = micros,
                        .pipes = pipes,
                        .width = width})
      .value();
}

// Stages whose sum starts before their worker's last compute.
std::set<int> eager_stages(const Schedule& lowered) {
  std::set<int> stages;
  for (const ActionList& list : lowered.actions) {
    bool compute_follows = false;
    for (auto action = list.rbegin(); action != list.rend(); ++action) {
      if (action->op == Op::kF || is_backward(action->op)) {
        compute_follows = true;
      } else if (action->op == Op::kG && compute_follows) {
        stages.insert(lowered.groups[action->group].members[0].stage);
      }
    }
  }
  return stages;
}

TEST(Lower, SmallestPipe) {
  const Schedule lowered =
      lower(make_schedule({.scheme = "1f1b", .depth = 2, .micros = 1}).value());
  EXPECT_EQ(cells(lowered.actions[0]), "0F0 0SF0>1 0RB0<1 0B0 0U N");
  EXPECT_EQ(cells(lowered.actions[1]), "1RF0<0 1F0 1B0 1SB0>0 1U N");
  EXPECT_TRUE(lowered.groups.empty());
}

TEST(Lower, EagerOptIsThePapersRule) {
  // All holders of stages D/2+1 to D-1 start their sums early.
  for (const int depth : {4, 6, 8, 16, 32}) {
    for (const int units : {1, 2, 3}) {
      std::set<int> expected;
      for (int stage = depth / 2 + 1; stage < depth; ++stage) {
        expected.insert(stage);
      }
      EXPECT_EQ(eager_stages(lower(chimera_of(depth, depth * units))),
                expected);
    }
  }
}

TEST(Lower, EagerAndEnd) {
  EXPECT_TRUE(
      eager_stages(lower(chimera_of(8, 8), {.sync = Sync::kEnd})).empty());
  const std::set<int> eager =
      eager_stages(lower(chimera_of(8, 8), {.sync = Sync::kEager}));
  EXPECT_EQ(eager, (std::set<int>{4, 5, 6, 7}));
}

TEST(Lower, HigherStageOfAMirrorPairIsSummedFirst) {
  const Schedule lowered = lower(chimera_of(8, 8), {.sync = Sync::kEnd});
  for (int worker = 0; worker < 8; ++worker) {
    std::vector<int> order;
    for (const Action& action : lowered.actions[worker]) {
      if (action.op == Op::kG) order.push_back(action.group);
    }
    const int near = std::min(worker, 7 - worker);
    EXPECT_EQ(order, (std::vector<int>{7 - near, near})) << worker;
  }
}

TEST(Lower, GroupsSpanHoldersAndCopies) {
  EXPECT_TRUE(sum_groups({2, {{0, 1}}}, 1, false).empty());
  EXPECT_EQ(sum_groups({2, {{0, 1}}}, 2, false).size(), 2u);
  EXPECT_EQ(sum_groups({2, {{0, 1}}}, 1, true).size(), 1u);
  const std::vector<SumGroup> groups =
      sum_groups({2, {{0, 1}, {1, 0}}}, 1, true);
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[2].members,
            (std::vector<Member>{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
}

TEST(Lower, OneUpdatePerStageEvenIfPipesShareIt) {
  // With odd D, the middle worker of GEMS holds one stage for both pipes.
  const Schedule lowered =
      lower(make_schedule({.scheme = "gems", .depth = 3, .micros = 2}).value());
  EXPECT_TRUE(cells(lowered.actions[1]).ends_with("1G 1U N"))
      << cells(lowered.actions[1]);
}

TEST(Lower, GatedVoteStandsBeforeUpdates) {
  const Schedule open = lower(chimera_of(2, 2));
  const Schedule gated = lower(chimera_of(2, 2), {.vote_gates_update = true});
  EXPECT_TRUE(cells(open.actions[0]).ends_with("1G 0G 1U@1 0U N"));
  EXPECT_TRUE(cells(gated.actions[0]).ends_with("1G 0G N 1U@1 0U"));
}

TEST(Lower, LateVoteIsReadBeforeTheFirstBackward) {
  const Schedule late =
      lower(chimera_of(2, 2), {.vote_gates_update = true, .late_vote = true});
  EXPECT_EQ(cells(late.actions[0]),
            "1RF1@1<1 0F0 0SF0>1 1F1@1 V~1 1B1@1 1SB1@1>1 0RB0<1 0B0 1G 0G N "
            "1U@1 0U");
  // If the vote does not decide about updates, there is nothing to settle
  // later.
  EXPECT_EQ(lower(chimera_of(2, 2), {.late_vote = true}),
            lower(chimera_of(2, 2)));
}

TEST(Lower, RecomputesOnceBeforeTheFirstPart) {
  const Schedule lowered = lower(make_schedule({.scheme = "chimera",
                                                .depth = 2,
                                                .micros = 2,
                                                .scale = Scale::kHalving})
                                     .value(),
                                 {.recompute = true});
  EXPECT_EQ(cells(lowered.actions[0]),
            "1RF1@1<1 0F0 0SF0>1 1F1@1 1R1@1 1B1@1 1SB1@1>1 0RB0<1 0R0 0B0 "
            "0RB0.1<1 1B1.1@1 1SB1.1@1>1 0B0.1 1G 0G 1U@1 0U N");
}

TEST(Lower, RecomputesInPart) {
  const Schedule made = chimera_of(4, 4);
  const Schedule part = lower(made, {.recompute = Recompute::first(2)});
  Schedule whole = lower(made, {.recompute = true});
  EXPECT_EQ(part.actions, whole.actions);
  EXPECT_EQ(recomputation(part), Recompute::first(2));
  EXPECT_EQ(recomputation(whole), Recompute(true));
  EXPECT_EQ(recomputation(lower(made)), Recompute(false));
  EXPECT_EQ(compute_only(part), made);
  // What is kept is held from the forward on.
  EXPECT_EQ(peak_held(part), peak_held(lower(made)));
  EXPECT_LT(peak_held(whole), peak_held(part));
}

TEST(Lower, ANumberOfLayersNeedsARecomputation) {
  Schedule schedule = lower(chimera_of(2, 2));
  schedule.recomputed_layers = 1;
  EXPECT_FALSE(validate(schedule).empty());
}

// As torch's DistributedDataParallel: sum and update stand before the message
// of the last backward. R waits for its gradient, and the last stage of an
// asynchronous scheme has none.
TEST(Lower, DdpHoldsBackTheLastGradient) {
  const LowerOptions options{
      .sync = Sync::kDdp, .recompute = true, .recompute_late = true};
  const auto made = [](const char* scheme) {
    return make_schedule(
               {.scheme = scheme, .depth = 2, .micros = 2, .width = 2})
        .value();
  };
  const Schedule lowered = lower(made("1f1b"), options);
  EXPECT_EQ(cells(lowered.actions[0]),
            "0F0 0SF0>1 0F1 0SF1>1 0RB0<1 0R0<1 0B0 0RB1<1 0R1<1 0B1 0G 0U N");
  EXPECT_EQ(cells(lowered.actions[1]),
            "1RF0<0 1RF1<0 1F0 1R0 1B0 1SB0>0 1F1 1R1 1B1 1G 1U 1SB1>0 N");
  EXPECT_EQ(cells(lower(made("pipedream-2bw"), options).actions[1]),
            "1RF0<0 1F0 1B0 1SB0>0 1RF1<0 1F1 1B1 1G 1U 1SB1>0 N");
}

TEST(Lower, BlockingSumsRunOneAfterTheOther) {
  const Schedule lowered = lower(chimera_of(2, 2), {.sync = Sync::kBlocking});
  EXPECT_EQ(cells(lowered.actions[0]),
            "1RF1@1<1 0F0 0SF0>1 1F1@1 1B1@1 1SB1@1>1 0RB0<1 0B0 1G 1U@1 0G 0U "
            "N");
}

TEST(Lower, RefusesUpdatesThatCannotStandBeforeTheEnd) {
  const Schedule two_pipes = chimera_of(4, 4);
  const Schedule one_pipe =
      make_schedule({.scheme = "1f1b", .depth = 4, .micros = 4}).value();
  EXPECT_TRUE(check_lowering(one_pipe, {.sync = Sync::kDdp}).empty());
  EXPECT_TRUE(check_lowering(two_pipes, {.sync = Sync::kBlocking}).empty());
  for (const LowerOptions& options :
       {LowerOptions{.sync = Sync::kDdp, .tied = true},
        LowerOptions{.sync = Sync::kDdp, .vote_gates_update = true},
        LowerOptions{.sync = Sync::kBlocking, .vote_gates_update = true}}) {
    EXPECT_EQ(check_lowering(one_pipe, options).size(), 1);
  }
  const Result<Schedule> refused =
      lower_checked(two_pipes, {.sync = Sync::kDdp}, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.errors()[0].code, "E212");
}

TEST(Lower, EveryOptionValidates) {
  for (const Scheme& scheme : schemes()) {
    for (const int width : {1, 2}) {
      const Schedule schedule = testing::small_schedule(scheme, width);
      for (const Sync sync : {Sync::kEagerOpt, Sync::kEager, Sync::kEnd}) {
        for (const int level : {0, 1, 2}) {
          const bool on = level > 0;
          const Schedule lowered =
              lower(schedule, {.sync = sync,
                               .recompute = on,
                               .tied = on && scheme.is_synchronous(),
                               .vote_gates_update = on,
                               .late_vote = level > 1});
          const std::vector<Violation> violations = validate(lowered);
          EXPECT_TRUE(violations.empty())
              << scheme.name << ": " << to_string(to_diagnostic(violations[0]));
        }
      }
    }
  }
}

TEST(Lower, ComputeOnlyIsTheWayBack) {
  const Schedule made =
      make_schedule({.scheme = "planned", .depth = 4, .micros = 6}).value();
  EXPECT_EQ(compute_only(lower(made, {.recompute = true, .tied = true})), made);
}

}  // namespace
}  // namespace chimera
