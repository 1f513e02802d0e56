// Tests that validate misses nothing. Valid lowered schedules are mutated; any
// that validate still accepts must finish and compute correctly in the
// brute-force executor, with sends that block until their receive is posted.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "chimera/schedule/cell.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/scheme.h"
#include "chimera/schedule/validate.h"
#include "tests/brute_force.h"

namespace chimera {
namespace {

struct Base {
  ScheduleSpec spec;
  LowerOptions options;
};

const std::vector<Base>& bases() {
  static const std::vector<Base> kBases = [] {
    std::vector<Base> bases;
    const auto add = [&](ScheduleSpec spec, LowerOptions options = {}) {
      bases.push_back({std::move(spec), options});
    };
    add({.scheme = "gpipe", .depth = 3, .micros = 2});
    add({.scheme = "1f1b", .depth = 3, .micros = 4}, {.recompute = true});
    add({.scheme = "1f1b", .depth = 2, .micros = 2, .width = 2},
        {.tied = true, .vote_gates_update = true});
    add({.scheme = "interleaved", .depth = 2, .micros = 2});
    add({.scheme = "gems", .depth = 3, .micros = 3});
    add({.scheme = "pipedream", .depth = 3, .micros = 1});
    add({.scheme = "pipedream", .depth = 3, .micros = 2, .width = 2});
    add({.scheme = "pipedream", .depth = 2, .micros = 3});
    add({.scheme = "pipedream-2bw", .depth = 3, .micros = 3});
    add({.scheme = "pipedream-2bw", .depth = 2, .micros = 2, .width = 2});
    add({.scheme = "chimera", .depth = 4, .micros = 4}, {.sync = Sync::kEager});
    add({.scheme = "chimera", .depth = 4, .micros = 3}, {.tied = true});
    add({.scheme = "chimera", .depth = 4, .micros = 4, .pipes = 4},
        {.sync = Sync::kEnd, .vote_gates_update = true});
    add({.scheme = "chimera",
         .depth = 2,
         .micros = 2,
         .scale = Scale::kHalving},
        {.recompute = true});
    add({.scheme = "chimera",
         .depth = 2,
         .micros = 4,
         .scale = Scale::kDoubling});
    add({.scheme = "zb-h1", .depth = 3, .micros = 3});
    add({.scheme = "zb-v", .depth = 2, .micros = 3}, {.tied = true});
    add({.scheme = "v-half", .depth = 3, .micros = 3});
    add({.scheme = "v-min", .depth = 3, .micros = 3}, {.tied = true});
    add({.scheme = "1f1b-v", .depth = 3, .micros = 3});
    add({.scheme = "1f1b-v", .depth = 2, .micros = 3}, {.recompute = true});
    add({.scheme = "dualpipe", .depth = 2, .micros = 4});
    add({.scheme = "hanayo", .depth = 2, .micros = 2, .chunks = 4});
    add({.scheme = "planned", .depth = 4, .micros = 4}, {.recompute = true});
    add({.scheme = "planned",
         .depth = 2,
         .micros = 3,
         .pipes = 1,
         .shape = Shape::kVee});
    const LowerOptions late{.vote_gates_update = true, .late_vote = true};
    add({.scheme = "chimera", .depth = 4, .micros = 4}, late);
    add({.scheme = "zb-v", .depth = 2, .micros = 3}, late);
    add({.scheme = "planned", .depth = 4, .micros = 4}, late);
    const LowerOptions ddp{
        .sync = Sync::kDdp, .recompute = true, .recompute_late = true};
    add({.scheme = "1f1b", .depth = 3, .micros = 3, .width = 2}, ddp);
    add({.scheme = "pipedream-2bw", .depth = 2, .micros = 2, .width = 2}, ddp);
    add({.scheme = "chimera", .depth = 4, .micros = 4},
        {.sync = Sync::kBlocking, .recompute = true, .recompute_late = true});
    return bases;
  }();
  return kBases;
}

Schedule lowered(const Base& base) {
  return lower(make_schedule(base.spec).value(), base.options);
}

int below(int limit) { return *rc::gen::inRange(0, std::max(1, limit)); }

// The place of a random action: (worker, position).
std::pair<int, int> somewhere(const Schedule& schedule) {
  const int worker = below(schedule.workers());
  return {worker, below(static_cast<int>(schedule.actions[worker].size()))};
}

void swap_two(Schedule& schedule) {
  const auto [worker, position] = somewhere(schedule);
  ActionList& list = schedule.actions[worker];
  const int distance = *rc::gen::inRange(1, 6);
  const int other =
      std::min<int>(position + distance, static_cast<int>(list.size()) - 1);
  std::swap(list[position], list[other]);
}

void drop(Schedule& schedule) {
  const auto [worker, position] = somewhere(schedule);
  ActionList& list = schedule.actions[worker];
  list.erase(list.begin() + position);
}

void repeat(Schedule& schedule) {
  const auto [worker, position] = somewhere(schedule);
  ActionList& list = schedule.actions[worker];
  const Action copy = list[position];
  list.insert(list.begin() + below(static_cast<int>(list.size()) + 1), copy);
}

void move_to_another_worker(Schedule& schedule) {
  const auto [worker, position] = somewhere(schedule);
  ActionList& from = schedule.actions[worker];
  const Action action = from[position];
  from.erase(from.begin() + position);
  ActionList& to = schedule.actions[below(schedule.workers())];
  to.insert(to.begin() + below(static_cast<int>(to.size()) + 1), action);
}

void move_within(Schedule& schedule) {
  const auto [worker, position] = somewhere(schedule);
  ActionList& list = schedule.actions[worker];
  const Action action = list[position];
  list.erase(list.begin() + position);
  list.insert(list.begin() + below(static_cast<int>(list.size()) + 1), action);
}

void change_field(Schedule& schedule) {
  const auto [worker, position] = somewhere(schedule);
  Action& action = schedule.actions[worker][position];
  switch (below(7)) {
    case 0:
      action.op = static_cast<Op>(below(kNumOps));
      break;
    case 1:
      action.pipe = below(schedule.pipes() + 1);
      break;
    case 2:
      action.stage = below(schedule.stages() + 1);
      break;
    case 3:
      action.micro = below(schedule.micros + 1);
      break;
    case 4:
      action.part = static_cast<std::uint8_t>(below(2));
      break;
    case 5:
      action.step = static_cast<std::int16_t>(action.step + below(3) - 1);
      break;
    default:
      action.group = below(static_cast<int>(schedule.groups.size()) + 1);
  }
}

void retarget_message(Schedule& schedule) {
  for (int attempt = 0; attempt < 20; ++attempt) {
    const auto [worker, position] = somewhere(schedule);
    Action& action = schedule.actions[worker][position];
    if (!is_message(action.op) && action.op != Op::kR) continue;
    action.peer = below(schedule.workers());
    return;
  }
}

void reorder_sums(Schedule& schedule) {
  ActionList& list = schedule.actions[below(schedule.workers())];
  std::vector<size_t> sums;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i].op == Op::kG) sums.push_back(i);
  }
  if (sums.size() < 2) return;
  const int count = static_cast<int>(sums.size());
  std::swap(list[sums[below(count)]], list[sums[below(count)]]);
}

void change_group(Schedule& schedule) {
  if (schedule.groups.empty()) return;
  SumGroup& group =
      schedule.groups[below(static_cast<int>(schedule.groups.size()))];
  if (group.members.empty()) return;
  if (below(2) == 0) {
    group.members.pop_back();
  } else {
    group.members[0].stage = below(schedule.stages());
  }
}

// Adds a copy of a group, so that its members are summed twice.
void double_group(Schedule& schedule) {
  if (schedule.groups.empty()) return;
  const int count = static_cast<int>(schedule.groups.size());
  SumGroup twin = schedule.groups[below(count)];
  const int original = twin.id;
  twin.id = count;
  schedule.groups.push_back(twin);
  for (ActionList& list : schedule.actions) {
    for (size_t i = 0; i < list.size(); ++i) {
      if (list[i].op != Op::kG || list[i].group != original) continue;
      Action again = list[i];
      again.group = twin.id;
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(++i), again);
    }
  }
}

// Moves a vote before all updates, or after them.
void move_vote(Schedule& schedule) {
  ActionList& list = schedule.actions[below(schedule.workers())];
  const auto vote =
      std::find_if(list.begin(), list.end(),
                   [](const Action& action) { return action.op == Op::kN; });
  if (vote == list.end()) return;
  const Action action = *vote;
  list.erase(vote);
  list.insert(list.begin() + below(static_cast<int>(list.size()) + 1), action);
}

// Moves a V, which often remains valid a few actions away.
void move_verdict(Schedule& schedule) {
  ActionList& list = schedule.actions[below(schedule.workers())];
  const auto verdict =
      std::find_if(list.begin(), list.end(),
                   [](const Action& action) { return action.op == Op::kV; });
  if (verdict == list.end()) return;
  const int last = static_cast<int>(list.size()) - 1;
  const int from = static_cast<int>(verdict - list.begin());
  const int to = std::clamp(from + below(9) - 4, 0, last);
  const Action action = *verdict;
  list.erase(verdict);
  list.insert(list.begin() + to, action);
}

void mutate(Schedule& schedule) {
  using Mutation = void (*)(Schedule&);
  static constexpr Mutation kMutations[] = {
      swap_two,     drop,         repeat,           move_to_another_worker,
      move_within,  change_field, retarget_message, reorder_sums,
      change_group, double_group, move_vote,        move_verdict};
  kMutations[below(std::size(kMutations))](schedule);
}

std::string list_violations(const Schedule& schedule) {
  std::string text;
  for (const Violation& violation : validate(schedule)) {
    text += to_string(to_diagnostic(violation)) + "\n";
  }
  return text;
}

// Runs enough steps for work in flight to cross several step boundaries.
testing::Execution run(const Schedule& schedule) {
  const Costs costs = uniform_costs(schedule, {});
  return testing::execute(schedule, costs,
                          {.steps = 4, .blocking_sends = true});
}

TEST(Mutation, BasesPassAndRun) {
  for (const Base& base : bases()) {
    const Schedule schedule = lowered(base);
    EXPECT_EQ(list_violations(schedule), "") << base.spec.scheme;
    const testing::Execution execution = run(schedule);
    EXPECT_TRUE(testing::is_right(execution)) << base.spec.scheme << "\n"
                                              << testing::to_text(execution);
  }
}

RC_GTEST_PROP(Mutation, WhatPassesRuns, ()) {
  Schedule schedule = lowered(bases()[below(static_cast<int>(bases().size()))]);
  const int count = *rc::gen::inRange(1, 4);
  for (int i = 0; i < count; ++i) mutate(schedule);
  const testing::Execution execution = run(schedule);
  const bool right = testing::is_right(execution);
  const bool passed = validate(schedule).empty();
  RC_TAG(std::string(passed ? "passed" : "refused") + ", " +
         (right ? "right" : "wrong"));
  if (passed && !right) {
    RC_FAIL("validate passed what does not run:\n" +
            testing::to_text(execution));
  }
}

RC_GTEST_PROP(Mutation, WhatPassesRunsBeforeLoweringToo, ()) {
  const Base& base = bases()[below(static_cast<int>(bases().size()))];
  Schedule schedule = make_schedule(base.spec).value();
  mutate(schedule);
  if (is_lowered(schedule) || !validate(schedule).empty()) return;
  const Costs costs = uniform_costs(schedule, {});
  const testing::Execution execution =
      testing::execute_compute_only(schedule, costs);
  if (!testing::is_right(execution)) RC_FAIL(testing::to_text(execution));
  const testing::Execution lowered_execution = run(lower(schedule));
  if (!testing::is_right(lowered_execution)) {
    RC_FAIL("lowered: " + testing::to_text(lowered_execution));
  }
}

// Each violation names its action and a reason.
RC_GTEST_PROP(Mutation, RefusalsNameAReason, ()) {
  Schedule schedule = lowered(bases()[below(static_cast<int>(bases().size()))]);
  mutate(schedule);
  for (const Violation& violation : validate(schedule)) {
    RC_ASSERT(!violation.code.empty());
    RC_ASSERT(!violation.reason.empty());
    RC_ASSERT(violation.worker < schedule.workers());
    if (violation.position == kNone) continue;
    RC_ASSERT(schedule.actions[violation.worker][violation.position] ==
              violation.action);
  }
}

}  // namespace
}  // namespace chimera
