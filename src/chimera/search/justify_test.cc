#include <gtest/gtest.h>

#include "chimera/schedule/scheme.h"
#include "chimera/search/justify_search.h"
#include "chimera/search/named_orders.h"

namespace chimera::ordering {
namespace {

struct Work {
  Schedule schedule;
  Problem problem;
  Goal goal;
};

Work work_of(const ScheduleSpec& spec, const UniformTimes& times) {
  Work work{.schedule = make_schedule(spec).value()};
  const double cap = *resolve(spec)->cap;
  work.problem =
      make_problem(work.schedule, uniform_costs(work.schedule, times),
                   {.cap = {.activations = cap}});
  work.goal = end_in_windows(work.problem);
  return work;
}

const UniformTimes kCosts{
    .backward = 1.5, .weight_grad = 0.5, .latency = 0.1, .sum_time = 0};

std::vector<Work> works() {
  const ScheduleSpec vee{.scheme = "planned",
                         .depth = 4,
                         .micros = 8,
                         .pipes = 1,
                         .chunks = 2,
                         .shape = Shape::kVee,
                         .cap = 3};
  return {
      work_of({.scheme = "planned", .depth = 4, .micros = 8}, kCosts),
      // Not folded: the pipes have 4 and 3 micro-batches.
      work_of({.scheme = "planned", .depth = 4, .micros = 7}, kCosts),
      work_of(vee, kCosts),
      // What waits for W takes less than half of its room.
      work_of(vee, {.backward = 1.5, .weight_grad = 0.5, .omega = 0.45}),
  };
}

// Every list from a pass plays to its end, within the room, and no later than
// the pass itself, since a pass may idle where a replay does not.
TEST(Justify, PassesOfBothDirectionsLeaveOrdersThatPlay) {
  for (const Work& work : works()) {
    for (const Direction direction :
         {Direction::kForwards, Direction::kBackwards}) {
      const Directed directed =
          make_directed(work.problem, work.goal, direction);
      TimedPass pass(directed);
      Replay replay(work.problem, work.goal);
      const std::size_t actions = directed.kinds.size() * directed.most_micros;
      for (std::uint64_t seed = 0; seed < 200; ++seed) {
        Random random(seed);
        std::vector<Ticks> targets(actions);
        const auto most = double(work.goal.latest);
        for (Ticks& at : targets) at = Ticks(random.between(0, most));
        // The list rule never fails.
        ASSERT_TRUE(pass.run(targets, {.keeps_targets = false,
                                       .room_is_urgent = random.one_in(2)}));
        const CodeLists lists = pass.lists();
        EXPECT_TRUE(keeps_room(work.problem, lists));
        ASSERT_TRUE(replay.run(lists, kNever));
        Ticks most_excess = pass.excess(0);
        for (int worker = 1; worker < work.problem.workers; ++worker) {
          most_excess = std::max(most_excess, pass.excess(worker));
        }
        EXPECT_LE(replay.span(), work.goal.latest + most_excess);
        if (!pass.run(targets, {})) continue;
        EXPECT_TRUE(keeps_room(work.problem, pass.lists()));
        EXPECT_TRUE(replay.run(pass.lists(), kNever));
      }
    }
  }
}

// The target rule need not reproduce its start, so a run keeps its start as a
// candidate.
TEST(Justify, ARunNeverLosesItsStart) {
  const Work work = work_of({.scheme = "planned",
                             .depth = 8,
                             .micros = 16,
                             .pipes = 1,
                             .chunks = 2,
                             .shape = Shape::kVee},
                            kCosts);
  Justifier justifier(work.problem, work.goal, 0);
  int tried = 0;
  for (const Schedule& named : named_orders(work.schedule)) {
    const CodeLists lists = to_codes(work.problem, named);
    if (!keeps_room(work.problem, lists)) continue;
    const Played start = justifier.replayed(lists);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Random random(seed);
      const Played best = justifier.run(
          start, {.passes = 20, .noise = 1, .temperature = 10}, random);
      EXPECT_LE(best.excess, start.excess);
      EXPECT_TRUE(keeps_room(work.problem, best.lists));
      // Replayed, the lists end no later than in the run: a backward pass may
      // have left the run's times later.
      EXPECT_LE(justifier.replayed(best.lists).excess, best.excess);
      ++tried;
    }
  }
  EXPECT_GE(tried, 40);
}

TEST(Justify, TimesSurviveTheWayThroughEachDirection) {
  for (const Work& work : works()) {
    Timetable times(work.problem.at(
        static_cast<int>(work.problem.slots.size()) * kSlotOps, 0));
    for (std::size_t i = 0; i < times.size(); ++i) times[i] = Ticks(i * i);
    for (int code = 0; code < static_cast<int>(work.problem.slots.size()) * 3;
         ++code) {
      const int micros = work.problem.slots[slot_of(code)].micros;
      for (int n = micros; n < work.problem.most_micros; ++n) {
        times[work.problem.at(code, n)] = 0;  // no such action
      }
    }
    for (const Direction direction :
         {Direction::kForwards, Direction::kBackwards}) {
      const Directed directed =
          make_directed(work.problem, work.goal, direction);
      std::vector<Ticks> there;
      Timetable back;
      to_direction(directed, 1000, times, there);
      from_direction(directed, 1000, there, back);
      EXPECT_EQ(back, times);
    }
  }
}

TEST(Justify, StretchedTimesKeepBothEndsAndThePace) {
  const ScheduleSpec few{.scheme = "planned", .depth = 2, .micros = 8};
  ScheduleSpec many = few;
  many.micros = 20;
  const Work small = work_of(few, kCosts);
  const Work large = work_of(many, kCosts);
  const Played played = Justifier(small.problem, small.goal, 0)
                            .replayed(to_codes(small.problem, small.schedule));
  const Timetable wishes =
      stretched(small.problem, played.times, large.problem);
  const Ticks pace = large.problem.busiest() / 10;
  for (int code = 0; code < 6; ++code) {
    const auto at = [&](int n) { return wishes[large.problem.at(code, n)]; };
    const auto was = [&](int n) {
      return played.times[small.problem.at(code, n)];
    };
    EXPECT_EQ(at(0), was(0));
    EXPECT_EQ(at(1), was(1));
    for (int n = 2; n < 8; ++n) EXPECT_EQ(at(n + 1) - at(n), pace);
    EXPECT_EQ(at(9), was(3) + 6 * pace);
  }
}

}  // namespace
}  // namespace chimera::ordering
