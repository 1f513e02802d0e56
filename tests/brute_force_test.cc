// Tests of the oracle itself: tiny schedules lowered by hand, with times
// computed by hand, and the same schedules with one fault each. Costs are F = I
// = W = 1 unless stated.
#include "tests/brute_force.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace chimera::testing {
namespace {

using Doubles = std::vector<double>;

Action act(Op op, int stage, int micro, int pipe = 0) {
  Action action;
  action.op = op;
  action.pipe = pipe;
  action.stage = stage;
  action.micro = micro;
  return action;
}

Action message(Op op, int stage, int micro, int peer, int pipe = 0) {
  Action action = act(op, stage, micro, pipe);
  action.peer = peer;
  return action;
}

Action update(int stage, int pipe = 0) {
  return act(Op::kU, stage, kNone, pipe);
}

Action sum(int group) {
  Action action;
  action.op = Op::kG;
  action.group = group;
  return action;
}

Action vote() {
  Action action;
  action.op = Op::kN;
  return action;
}

Action part_of(Action action, int part) {
  action.part = static_cast<std::uint8_t>(part);
  return action;
}

Action later(Action action, int step) {
  action.step = static_cast<std::int16_t>(step);
  return action;
}

Costs unit_costs(int stages) {
  Costs costs;
  costs.stages.resize(stages);
  return costs;
}

Schedule one_pipe(int depth, int micros) {
  Schedule schedule;
  schedule.scheme = "1f1b";
  schedule.depth = depth;
  schedule.micros = micros;
  schedule.placement.workers = depth;
  schedule.placement.worker_of.resize(1);
  for (int worker = 0; worker < depth; ++worker) {
    schedule.placement.worker_of[0].push_back(worker);
  }
  schedule.actions.resize(depth);
  return schedule;
}

// 0: F0 . . . B B     1: . F0 B B . .
Schedule smallest() {
  Schedule schedule = one_pipe(2, 1);
  schedule.actions = {{
                          message(Op::kRB, 0, 0, 1),
                          act(Op::kF, 0, 0),
                          message(Op::kSF, 0, 0, 1),
                          act(Op::kB, 0, 0),
                          update(0),
                          vote(),
                      },
                      {
                          message(Op::kRF, 1, 0, 0),
                          act(Op::kF, 1, 0),
                          act(Op::kB, 1, 0),
                          message(Op::kSB, 1, 0, 0),
                          update(1),
                          vote(),
                      }};
  return schedule;
}

// 1F1B of two micro-batches.
// 0: F0 F1 . . B0 B0 . B1 B1     1: . F0 B0 B0 F1 B1 B1 . .
Schedule two_micros() {
  Schedule schedule = one_pipe(2, 2);
  schedule.actions = {{
                          message(Op::kRB, 0, 0, 1),
                          act(Op::kF, 0, 0),
                          message(Op::kSF, 0, 0, 1),
                          act(Op::kF, 0, 1),
                          message(Op::kRB, 0, 1, 1),
                          message(Op::kSF, 0, 1, 1),
                          act(Op::kB, 0, 0),
                          act(Op::kB, 0, 1),
                          update(0),
                          vote(),
                      },
                      {
                          message(Op::kRF, 1, 0, 0),
                          message(Op::kRF, 1, 1, 0),
                          act(Op::kF, 1, 0),
                          act(Op::kB, 1, 0),
                          message(Op::kSB, 1, 0, 0),
                          act(Op::kF, 1, 1),
                          act(Op::kB, 1, 1),
                          message(Op::kSB, 1, 1, 0),
                          update(1),
                          vote(),
                      }};
  return schedule;
}

// The list of one worker of the smallest Chimera; the other is its mirror
// image.
ActionList half_chimera(int worker) {
  const int peer = 1 - worker;
  const int down = worker;  // the pipe that starts here, and its micro-batch
  const int up = peer;      // the pipe that ends here
  return {
      message(Op::kRF, 1, up, peer, up),
      message(Op::kRB, 0, down, peer, down),
      act(Op::kF, 0, down, down),
      message(Op::kSF, 0, down, peer, down),
      act(Op::kF, 1, up, up),
      act(Op::kB, 1, up, up),
      message(Op::kSB, 1, up, peer, up),
      sum(1),
      act(Op::kB, 0, down, down),
      sum(0),
      update(1, up),
      update(0, down),
      vote(),
  };
}

// 0: F0 F1' B1' B1' B0 B0; ' marks the other pipe; worker 1 mirrors it.
Schedule small_chimera() {
  Schedule schedule = one_pipe(2, 2);
  schedule.scheme = "chimera";
  schedule.placement.worker_of = {{0, 1}, {1, 0}};
  schedule.groups = {{0, {{0, 0}, {1, 0}}}, {1, {{0, 1}, {1, 1}}}};
  schedule.actions = {half_chimera(0), half_chimera(1)};
  return schedule;
}

// PipeDream with one micro-batch a step: worker 0's backward lags by one step.
Schedule small_pipedream() {
  Schedule schedule = one_pipe(2, 1);
  schedule.scheme = "pipedream";
  schedule.updates = UpdateRule::kEveryMicro;
  schedule.actions = {{
                          message(Op::kRB, 0, 0, 1),
                          act(Op::kF, 0, 0),
                          message(Op::kSF, 0, 0, 1),
                          later(act(Op::kB, 0, 0), -1),
                          later(act(Op::kU, 0, 0), -1),
                          later(vote(), -1),
                      },
                      {
                          message(Op::kRF, 1, 0, 0),
                          act(Op::kF, 1, 0),
                          act(Op::kB, 1, 0),
                          message(Op::kSB, 1, 0, 0),
                          act(Op::kU, 1, 0),
                          vote(),
                      }};
  return schedule;
}

size_t find(const ActionList& list, Op op) {
  const auto found = std::find_if(list.begin(), list.end(),
                                  [op](const Action& a) { return a.op == op; });
  EXPECT_NE(found, list.end());
  return static_cast<size_t>(found - list.begin());
}

void erase(ActionList& list, Op op) {
  list.erase(list.begin() + static_cast<long>(find(list, op)));
}

// Moves the first `op` to the front (or, if at_end, to the end).
void move_to(ActionList& list, Op op, bool at_end) {
  const Action action = list[find(list, op)];
  erase(list, op);
  list.insert(at_end ? list.end() : list.begin(), action);
}

Execution run(const Schedule& schedule, const ExecuteOptions& options = {}) {
  return execute(schedule, unit_costs(schedule.stages()), options);
}

bool mentions(const Execution& execution, const std::string& words) {
  return to_text(execution).find(words) != std::string::npos;
}

// ---- Correct schedules ----------------------------------------------------

TEST(BruteForce, RunsTheSmallestPipe) {
  const Execution execution = run(smallest());
  EXPECT_TRUE(is_right(execution)) << to_text(execution);
  EXPECT_EQ(execution.makespan, 6);
  EXPECT_EQ(execution.peak, (Doubles{1, 1}));
  EXPECT_EQ(execution.busy, (Doubles{3, 3}));
  EXPECT_EQ(execution.first, (Doubles{0, 1}));
  EXPECT_EQ(execution.last, (Doubles{6, 4}));
}

TEST(BruteForce, ChargesLatencyAndUpdates) {
  Costs costs = unit_costs(2);
  costs.latency = 0.5;
  costs.stages[0].update = 0.25;
  costs.stages[1].update = 0.25;
  const Execution execution = execute(smallest(), costs, {});
  EXPECT_TRUE(is_right(execution)) << to_text(execution);
  EXPECT_EQ(execution.makespan, 7.25);
  EXPECT_EQ(execution.last, (Doubles{7.25, 4.75}));
  EXPECT_EQ(execution.busy, (Doubles{3.25, 3.25}));
}

TEST(BruteForce, RunsTwoMicros) {
  const Execution execution = run(two_micros(), {.blocking_sends = true});
  EXPECT_TRUE(is_right(execution)) << to_text(execution);
  EXPECT_EQ(execution.makespan, 9);
  EXPECT_EQ(execution.peak, (Doubles{2, 1}));
  EXPECT_EQ(execution.busy, (Doubles{6, 6}));
}

// There is no barrier, but worker 0 ends each step last and starts the next.
TEST(BruteForce, RunsSeveralSteps) {
  const Execution execution = run(two_micros(), {.steps = 3});
  EXPECT_TRUE(is_right(execution)) << to_text(execution);
  EXPECT_EQ(execution.makespan, 27);
  EXPECT_EQ(execution.last, (Doubles{27, 25}));
}

TEST(BruteForce, RunsChimera) {
  const Execution execution =
      run(small_chimera(), {.steps = 2, .blocking_sends = true});
  EXPECT_TRUE(is_right(execution)) << to_text(execution);
  EXPECT_EQ(execution.makespan, 12);
  EXPECT_EQ(execution.peak, (Doubles{2, 2}));
}

// Stage 1 is summed from 4 to 7, stage 0 from 6 to 9.
TEST(BruteForce, UpdatesWaitForSums) {
  Costs costs = unit_costs(2);
  costs.sum_time = 3;
  const Execution execution = execute(small_chimera(), costs, {});
  EXPECT_TRUE(is_right(execution)) << to_text(execution);
  EXPECT_EQ(execution.makespan, 9);
}

// Both votes are cast when worker 0 ends its backward.
TEST(BruteForce, UpdatesWaitForAnEarlierVote) {
  Schedule schedule = smallest();
  for (ActionList& list : schedule.actions) {
    std::swap(list[find(list, Op::kN)], list[find(list, Op::kU)]);
  }
  const Execution execution = run(schedule);
  EXPECT_TRUE(is_right(execution)) << to_text(execution);
  EXPECT_EQ(execution.last, (Doubles{6, 6}));
}

// Worker 1's weight half runs at the same time as worker 0's input half.
TEST(BruteForce, RunsSplitBackwards) {
  Schedule schedule = smallest();
  for (int worker = 0; worker < 2; ++worker) {
    ActionList& list = schedule.actions[worker];
    list[find(list, Op::kB)].op = Op::kI;
    list.insert(list.begin() + static_cast<long>(find(list, Op::kU)),
                act(Op::kW, worker, 0));
  }
  const Execution execution = run(schedule);
  EXPECT_TRUE(is_right(execution)) << to_text(execution);
  EXPECT_EQ(execution.makespan, 5);
  EXPECT_EQ(execution.last, (Doubles{5, 4}));
}

Schedule halved() {
  Schedule schedule = smallest();
  schedule.parts = 2;
  schedule.actions[0].insert(schedule.actions[0].begin() + 4,
                             part_of(act(Op::kB, 0, 0), 1));
  schedule.actions[0].insert(schedule.actions[0].begin(),
                             part_of(message(Op::kRB, 0, 0, 1), 1));
  const ActionList second = {part_of(act(Op::kB, 1, 0), 1),
                             part_of(message(Op::kSB, 1, 0, 0), 1)};
  schedule.actions[1].insert(schedule.actions[1].begin() + 4, second.begin(),
                             second.end());
  return schedule;
}

TEST(BruteForce, RunsHalvedBackwards) {
  const Execution execution = run(halved(), {.blocking_sends = true});
  EXPECT_TRUE(is_right(execution)) << to_text(execution);
  EXPECT_EQ(execution.makespan, 5);
  EXPECT_EQ(execution.busy, (Doubles{3, 3}));
  EXPECT_EQ(execution.peak, (Doubles{1, 1}));
}

Schedule recomputed() {
  Schedule schedule = two_micros();
  for (int worker = 0; worker < 2; ++worker) {
    ActionList list;
    for (const Action& action : schedule.actions[worker]) {
      if (action.op == Op::kB) {
        list.push_back(act(Op::kR, worker, action.micro));
      }
      list.push_back(action);
    }
    schedule.actions[worker] = list;
  }
  return schedule;
}

// Worker 1: F0 from 1 to 2, R0 to 3, B0 to 5, F1 to 6, R1 to 7, B1 to 9. Worker
// 0 recomputes both while it waits, B0 5-7, B1 9-11; it holds one at a time.
TEST(BruteForce, RecomputationHoldsLess) {
  const Execution execution = run(recomputed());
  EXPECT_TRUE(is_right(execution)) << to_text(execution);
  EXPECT_EQ(execution.makespan, 11);
  EXPECT_EQ(execution.peak, (Doubles{1, 1}));
  EXPECT_EQ(execution.busy, (Doubles{8, 8}));
}

// A vee: worker 0 holds stages 0 and 3, worker 1 stages 1 and 2, between which
// no message is needed.
TEST(BruteForce, ChunksCountByTheirShare) {
  Schedule schedule = one_pipe(2, 1);
  schedule.placement.worker_of = {{0, 1, 1, 0}};
  schedule.actions = {
      {act(Op::kF, 0, 0), act(Op::kF, 3, 0), act(Op::kB, 3, 0),
       act(Op::kB, 0, 0)},
      {act(Op::kF, 1, 0), act(Op::kF, 2, 0), act(Op::kB, 2, 0),
       act(Op::kB, 1, 0)},
  };
  Costs costs = unit_costs(4);
  costs.latency = 0.25;
  const Execution execution = execute_compute_only(schedule, costs);
  EXPECT_TRUE(is_right(execution)) << to_text(execution);
  EXPECT_EQ(execution.makespan, 13);
  EXPECT_EQ(execution.peak, (Doubles{1, 1}));
}

TEST(BruteForce, ComputeOnlyGpipeMatchesItsFormula) {
  const int depth = 8;
  const int micros = 16;
  Schedule schedule = one_pipe(depth, micros);
  for (int worker = 0; worker < depth; ++worker) {
    for (Op op : {Op::kF, Op::kB}) {
      for (int micro = 0; micro < micros; ++micro) {
        schedule.actions[worker].push_back(act(op, worker, micro));
      }
    }
  }
  const Execution execution = execute_compute_only(schedule, unit_costs(depth));
  EXPECT_TRUE(is_right(execution)) << to_text(execution);
  EXPECT_EQ(execution.makespan, (micros + depth - 1) * 3);
  EXPECT_EQ(execution.peak, Doubles(depth, micros));
}

// Worker 0: F0 0-1, F1 1-2, B0 4-6, F2 6-7, B1 7-9, B2 10-12.
TEST(BruteForce, RunsPipedreamAndDrains) {
  const Execution execution =
      run(small_pipedream(), {.steps = 3, .blocking_sends = true});
  EXPECT_TRUE(is_right(execution)) << to_text(execution);
  EXPECT_EQ(execution.makespan, 12);
  EXPECT_EQ(execution.last, (Doubles{12, 10}));
  EXPECT_EQ(execution.peak, (Doubles{2, 1}));
}

TEST(BruteForce, PipedreamSumsEveryMicro) {
  Schedule schedule = small_pipedream();
  schedule.width = 2;
  schedule.groups = {{0, {{0, 0}}}, {1, {{0, 1}}}};
  for (int worker = 0; worker < 2; ++worker) {
    ActionList& list = schedule.actions[worker];
    const size_t position = find(list, Op::kU);
    Action start = later(sum(worker), list[position].step);
    start.micro = 0;
    list.insert(list.begin() + static_cast<long>(position), start);
  }
  Costs costs = unit_costs(2);
  costs.sum_time = 1;
  const Execution execution = execute(schedule, costs, {.steps = 1});
  EXPECT_TRUE(is_right(execution)) << to_text(execution);
  EXPECT_EQ(execution.makespan, 7);
}

// The first worker of 2BW runs one forward of the next step before it updates.
Schedule small_2bw() {
  Schedule schedule = two_micros();
  schedule.scheme = "pipedream-2bw";
  schedule.updates = UpdateRule::kOneBehind;
  ActionList& list = schedule.actions[0];
  list = {message(Op::kRB, 0, 0, 1), act(Op::kF, 0, 0),
          message(Op::kSF, 0, 0, 1), later(act(Op::kB, 0, 1), -1),
          later(update(0), -1),      later(vote(), -1),
          message(Op::kRB, 0, 1, 1), act(Op::kF, 0, 1),
          message(Op::kSF, 0, 1, 1), act(Op::kB, 0, 0)};
  return schedule;
}

TEST(BruteForce, Runs2bw) {
  const Execution execution =
      run(small_2bw(), {.steps = 3, .blocking_sends = true});
  EXPECT_TRUE(is_right(execution)) << to_text(execution);
  EXPECT_EQ(execution.peak, (Doubles{2, 1}));
}

Schedule tied() {
  Schedule schedule = smallest();
  schedule.groups = {{0, {{0, 0}, {0, 1}}}};
  for (ActionList& list : schedule.actions) {
    list.insert(list.begin() + static_cast<long>(find(list, Op::kU)), sum(0));
  }
  return schedule;
}

TEST(BruteForce, TiedStagesUpdateTogether) {
  const Execution execution = run(tied());
  EXPECT_TRUE(is_right(execution)) << to_text(execution);
  EXPECT_EQ(execution.last, (Doubles{6, 6}));
}

// ---- Faults: messages -----------------------------------------------------

TEST(BruteForce, FindsAMissingReceive) {
  Schedule schedule = smallest();
  erase(schedule.actions[1], Op::kRF);
  const Execution execution = run(schedule);
  EXPECT_FALSE(execution.finished);
  EXPECT_TRUE(mentions(execution, "F pipe 0 stage 1 micro 0 waits for ever"));
}

TEST(BruteForce, FindsAMissingSend) {
  Schedule schedule = smallest();
  erase(schedule.actions[1], Op::kSB);
  EXPECT_FALSE(run(schedule).finished);
}

TEST(BruteForce, FindsAReceivePostedTooLate) {
  Schedule schedule = smallest();
  move_to(schedule.actions[0], Op::kRB, true);
  EXPECT_FALSE(run(schedule).finished);
}

TEST(BruteForce, FindsDoubleMessages) {
  Schedule schedule = smallest();
  schedule.actions[0].push_back(message(Op::kSF, 0, 0, 1));
  EXPECT_TRUE(mentions(run(schedule), "sends a second time"));
  schedule = smallest();
  schedule.actions[0].push_back(message(Op::kRB, 0, 0, 1));
  EXPECT_TRUE(mentions(run(schedule), "receives a second time"));
}

TEST(BruteForce, FindsASendOfNothing) {
  Schedule schedule = smallest();
  move_to(schedule.actions[0], Op::kSF, false);
  EXPECT_TRUE(mentions(run(schedule), "sends what is not computed yet"));
}

Schedule three_workers() {
  Schedule schedule = one_pipe(3, 1);
  for (int worker = 0; worker < 3; ++worker) {
    ActionList& list = schedule.actions[worker];
    if (worker > 0) list.push_back(message(Op::kRF, worker, 0, worker - 1));
    if (worker < 2) list.push_back(message(Op::kRB, worker, 0, worker + 1));
    list.push_back(act(Op::kF, worker, 0));
    if (worker < 2) list.push_back(message(Op::kSF, worker, 0, worker + 1));
    list.push_back(act(Op::kB, worker, 0));
    if (worker > 0) list.push_back(message(Op::kSB, worker, 0, worker - 1));
    list.push_back(update(worker));
    list.push_back(vote());
  }
  return schedule;
}

TEST(BruteForce, FindsAWrongPeer) {
  const Schedule right = three_workers();
  const Execution execution = run(right, {.blocking_sends = true});
  EXPECT_TRUE(is_right(execution)) << to_text(execution);
  EXPECT_EQ(execution.makespan, 9);
  for (auto [worker, op, peer] :
       {std::tuple(0, Op::kSF, 2), std::tuple(1, Op::kRF, 2),
        std::tuple(2, Op::kSB, 0), std::tuple(1, Op::kRB, 0)}) {
    Schedule wrong = right;
    wrong.actions[worker][find(wrong.actions[worker], op)].peer = peer;
    EXPECT_FALSE(run(wrong).finished);
    EXPECT_FALSE(run(wrong, {.blocking_sends = true}).finished);
  }
}

// Sender and receiver agree, but the receiver does not hold the stage.
TEST(BruteForce, FindsAMessageToAStranger) {
  Schedule schedule = three_workers();
  ActionList& first = schedule.actions[0];
  first[find(first, Op::kSF)].peer = 2;
  schedule.actions[2].insert(schedule.actions[2].begin(),
                             message(Op::kRF, 1, 0, 0));
  const Execution execution = run(schedule);
  EXPECT_FALSE(execution.finished);
  EXPECT_TRUE(mentions(execution, "is on a wrong worker"));
}

// Deadlock: worker 0 posts its second receive only after a send. Worker 1
// receives that send only after its own send, which needs the post.
TEST(BruteForce, FindsCrossedBlockingSends) {
  Schedule schedule = small_chimera();
  for (int worker = 0; worker < 2; ++worker) {
    ActionList& list = schedule.actions[worker];
    const Action receive = list[0];
    ASSERT_EQ(receive.op, Op::kRF);
    list.erase(list.begin());
    list.insert(list.begin() + static_cast<long>(find(list, Op::kSF)) + 1,
                receive);
  }
  const Execution kind = run(schedule);
  EXPECT_TRUE(is_right(kind)) << to_text(kind);
  const Execution harsh = run(schedule, {.blocking_sends = true});
  EXPECT_FALSE(harsh.finished);
  EXPECT_TRUE(harsh.errors.empty()) << to_text(harsh);
  EXPECT_EQ(harsh.waiting.size(), 2u);
}

// ---- Faults: compute ------------------------------------------------------

TEST(BruteForce, FindsADoubleBackward) {
  Schedule schedule = smallest();
  ActionList& list = schedule.actions[0];
  list.insert(list.begin() + static_cast<long>(find(list, Op::kU)),
              act(Op::kB, 0, 0));
  const Execution execution = run(schedule);
  EXPECT_TRUE(mentions(execution, "input halves: stage 0 micro 0"));
  EXPECT_TRUE(mentions(execution, "applies a wrong gradient: stage 0 micro 0"));
}

TEST(BruteForce, FindsAMissingBackward) {
  Schedule schedule = smallest();
  erase(schedule.actions[0], Op::kB);
  const Execution execution = run(schedule);
  EXPECT_TRUE(execution.finished);
  EXPECT_TRUE(mentions(execution,
                       "weight halves: stage 0 micro 0 part 0 is "
                       "there 0 times"));
  EXPECT_TRUE(mentions(execution, "applies a wrong gradient"));
}

TEST(BruteForce, FindsAMissingPart) {
  Schedule schedule = halved();
  ActionList& list = schedule.actions[0];
  std::erase_if(list,
                [](const Action& a) { return a.op == Op::kB && a.part == 1; });
  EXPECT_TRUE(mentions(run(schedule), "stage 0 micro 0 part 1 is there 0"));
}

TEST(BruteForce, FindsABackwardBeforeItsForward) {
  Schedule schedule = smallest();
  move_to(schedule.actions[1], Op::kB, false);
  EXPECT_FALSE(run(schedule).finished);
}

TEST(BruteForce, FindsAWeightHalfBeforeItsInputHalf) {
  Schedule schedule = smallest();
  ActionList& list = schedule.actions[1];
  list[find(list, Op::kB)].op = Op::kI;
  list.insert(list.begin() + 2, act(Op::kW, 1, 0));
  EXPECT_FALSE(run(schedule).finished);
}

TEST(BruteForce, FindsALateRecomputation) {
  Schedule schedule = recomputed();
  ActionList& list = schedule.actions[0];
  std::swap(list[find(list, Op::kR)], list[find(list, Op::kB)]);
  EXPECT_FALSE(run(schedule).finished);
}

TEST(BruteForce, FindsWorkOnAWrongWorker) {
  Schedule schedule = smallest();
  schedule.placement.worker_of = {{1, 0}};
  EXPECT_TRUE(mentions(run(schedule), "is on a wrong worker"));
}

TEST(BruteForce, FindsAMicroInTwoPipes) {
  Schedule schedule = small_chimera();
  ActionList& list = schedule.actions[0];
  list[find(list, Op::kB)].pipe = 0;
  EXPECT_TRUE(mentions(run(schedule), "is in a second pipe"));
}

TEST(BruteForce, RefusesNonsense) {
  Schedule schedule = smallest();
  schedule.actions[0][1].micro = 7;
  const Execution execution = run(schedule);
  EXPECT_FALSE(execution.finished);
  EXPECT_TRUE(mentions(execution, "has no such micro-batch"));
  EXPECT_TRUE(mentions(execute_compute_only(smallest(), unit_costs(2)),
                       "is not for compute-only lists"));
  EXPECT_FALSE(execute(smallest(), unit_costs(3), {}).finished);
}

// ---- Faults: sums, votes, updates -----------------------------------------

TEST(BruteForce, FindsAnUpdateBeforeItsSum) {
  Schedule schedule = small_chimera();
  ActionList& list = schedule.actions[0];
  // Swaps the second sum with the update of its stage, stage 0.
  ASSERT_EQ(list[9].op, Op::kG);
  ASSERT_EQ(list[11].op, Op::kU);
  std::swap(list[9], list[11]);
  EXPECT_FALSE(run(schedule).finished);
}

TEST(BruteForce, FindsAMissingSum) {
  Schedule schedule = small_chimera();
  erase(schedule.actions[0], Op::kG);
  EXPECT_FALSE(run(schedule).finished);
}

TEST(BruteForce, FindsSumsInDifferentOrder) {
  Schedule schedule = small_chimera();
  for (ActionList& list : schedule.actions) {
    std::swap(list[7], list[8]);  // both sums now follow the last backward
  }
  const Execution same = run(schedule);
  EXPECT_TRUE(is_right(same)) << to_text(same);
  std::swap(schedule.actions[1][8], schedule.actions[1][9]);
  const Execution crossed = run(schedule);
  EXPECT_FALSE(crossed.finished);
  EXPECT_TRUE(crossed.errors.empty()) << to_text(crossed);
}

TEST(BruteForce, FindsASumBeforeTheLastBackward) {
  Schedule schedule = small_chimera();
  for (ActionList& list : schedule.actions) std::swap(list[8], list[9]);
  const Execution execution = run(schedule);
  EXPECT_TRUE(execution.finished);
  EXPECT_TRUE(mentions(execution, "sums a wrong gradient: stage 0"));
  EXPECT_TRUE(mentions(execution, "applies a wrong gradient: stage 0"));
}

TEST(BruteForce, FindsDoubleAndForeignSums) {
  Schedule schedule = small_chimera();
  schedule.actions[0].push_back(sum(0));
  EXPECT_TRUE(mentions(run(schedule), "starts a sum a second time"));
  schedule = smallest();
  schedule.groups = {{0, {{0, 0}}}};
  schedule.actions[1].push_back(sum(0));
  EXPECT_TRUE(mentions(run(schedule), "is not a member of the group"));
}

TEST(BruteForce, FindsMissingAndPartialGroups) {
  Schedule schedule = small_chimera();
  schedule.groups[0].members.pop_back();
  EXPECT_TRUE(mentions(run(schedule), "does not hold exactly the holders"));
  schedule = small_chimera();
  schedule.groups.pop_back();
  for (ActionList& list : schedule.actions) erase(list, Op::kG);
  const Execution execution = run(schedule);
  EXPECT_TRUE(mentions(execution, "no group sums stage 1"));
  EXPECT_TRUE(mentions(execution, "applies a wrong gradient: stage 1"));
  schedule = smallest();
  schedule.width = 2;
  EXPECT_TRUE(mentions(run(schedule), "no group sums stage 0"));
}

TEST(BruteForce, FindsATiedSumOfOtherStages) {
  Schedule schedule = three_workers();
  schedule.groups = {{0, {{0, 0}, {0, 1}}}};
  for (const int worker : {0, 1}) {
    ActionList& list = schedule.actions[worker];
    list.insert(list.begin() + static_cast<long>(find(list, Op::kU)), sum(0));
  }
  const Execution execution = run(schedule);
  EXPECT_TRUE(execution.finished);
  EXPECT_TRUE(mentions(execution, "does not hold exactly the holders"));
}

TEST(BruteForce, FindsATiedSumLeftOut) {
  Schedule schedule = tied();
  for (ActionList& list : schedule.actions) erase(list, Op::kG);
  EXPECT_FALSE(run(schedule).finished);
}

TEST(BruteForce, FindsMissingAndDoubleUpdatesAndVotes) {
  Schedule schedule = smallest();
  erase(schedule.actions[0], Op::kU);
  EXPECT_TRUE(mentions(run(schedule), "updates of worker 0: stage 0"));
  schedule = smallest();
  schedule.actions[0].push_back(update(0));
  EXPECT_TRUE(mentions(run(schedule), "updates of worker 0: stage 0"));
  schedule = smallest();
  erase(schedule.actions[1], Op::kN);
  EXPECT_TRUE(mentions(run(schedule), "worker 1 votes 0 times"));
}

TEST(BruteForce, FindsAVoteBeforeTheGradients) {
  Schedule schedule = smallest();
  move_to(schedule.actions[0], Op::kN, false);
  EXPECT_TRUE(mentions(run(schedule), "votes too early"));
  schedule = tied();
  for (ActionList& list : schedule.actions) {
    move_to(list, Op::kG, true);
    move_to(list, Op::kU, true);
  }
  EXPECT_TRUE(mentions(run(schedule), "votes before the sum of group 0"));
}

// The two workers of smallest(), with a late vote.
Schedule late() {
  const Action verdict = later({.op = Op::kV}, -1);
  Schedule schedule = one_pipe(2, 1);
  schedule.actions = {{
                          act(Op::kF, 0, 0),
                          message(Op::kSF, 0, 0, 1),
                          verdict,
                          message(Op::kRB, 0, 0, 1),
                          act(Op::kB, 0, 0),
                          vote(),
                          update(0),
                      },
                      {
                          message(Op::kRF, 1, 0, 0),
                          act(Op::kF, 1, 0),
                          verdict,
                          act(Op::kB, 1, 0),
                          message(Op::kSB, 1, 0, 0),
                          vote(),
                          update(1),
                      }};
  return schedule;
}

TEST(BruteForce, FindsUpdatesThatALateVoteCannotUndo) {
  const auto run_steps = [](const Schedule& schedule) {
    return execute(schedule, unit_costs(2),
                   {.steps = 3, .blocking_sends = true});
  };
  EXPECT_TRUE(is_right(run_steps(late()))) << to_text(run_steps(late()));
  Schedule schedule = late();
  ActionList& list = schedule.actions[1];
  std::swap(list[find(list, Op::kV)], list[find(list, Op::kB)]);
  EXPECT_TRUE(mentions(run_steps(schedule), "comes after a backward"));
  schedule = late();
  move_to(schedule.actions[0], Op::kV, false);
  EXPECT_TRUE(mentions(run_steps(schedule), "crosses V"));
  schedule = late();
  move_to(schedule.actions[1], Op::kN, true);
  EXPECT_TRUE(mentions(run_steps(schedule), "is not decided by the vote"));
  schedule = late();
  erase(schedule.actions[1], Op::kV);
  EXPECT_TRUE(mentions(run_steps(schedule), "worker 1 settles 0 votes"));
}

// Worker 0 updates for the last step only after this step's forward.
TEST(BruteForce, FindsStaleWeights) {
  Schedule schedule = smallest();
  ActionList& list = schedule.actions[0];
  list = {message(Op::kRB, 0, 0, 1), act(Op::kF, 0, 0),
          message(Op::kSF, 0, 0, 1), later(update(0), -1),
          act(Op::kB, 0, 0),         vote()};
  EXPECT_TRUE(is_right(run(schedule, {.steps = 1})));
  const Execution execution = run(schedule, {.steps = 2});
  EXPECT_TRUE(execution.finished);
  EXPECT_TRUE(mentions(execution,
                       "step 1: F pipe 0 stage 0 micro 0 uses "
                       "weights 0"));
  EXPECT_TRUE(mentions(execution,
                       "step 1: B pipe 0 stage 0 micro 0 needs "
                       "weights 0, newest are 1"));
}

TEST(BruteForce, FindsAnUpdateBeforeTheBackward) {
  Schedule schedule = smallest();
  move_to(schedule.actions[1], Op::kU, false);
  const Execution execution = run(schedule);
  EXPECT_TRUE(mentions(execution, "applies a wrong gradient: stage 1"));
  EXPECT_TRUE(mentions(execution, "F pipe 0 stage 1 micro 0 uses weights 1"));
}

TEST(BruteForce, FindsAPipedreamUpdateOfTheWrongMicro) {
  Schedule schedule = two_micros();
  schedule.scheme = "pipedream";
  schedule.updates = UpdateRule::kEveryMicro;
  for (int worker = 0; worker < 2; ++worker) {
    ActionList list;
    for (const Action& action : schedule.actions[worker]) {
      if (action.op != Op::kU) list.push_back(action);
      if (action.op != Op::kB) continue;
      list.push_back(act(Op::kU, worker, action.micro));
    }
    schedule.actions[worker] = list;
  }
  const Execution right = run(schedule, {.steps = 2});
  EXPECT_TRUE(is_right(right)) << to_text(right);
  for (Action& action : schedule.actions[0]) {
    if (action.op == Op::kU) action.micro = 1 - action.micro;
  }
  EXPECT_TRUE(mentions(run(schedule),
                       "applies a wrong gradient: stage 0 "
                       "micro 1"));
}

TEST(BruteForce, FindsWeightsThat2bwDoesNotKeep) {
  Schedule schedule = small_2bw();
  ActionList& list = schedule.actions[0];
  for (Action& action : list) {
    if (action.op == Op::kB || action.op == Op::kU) {
      action.step = static_cast<std::int16_t>(action.step - 1);
    }
  }
  EXPECT_TRUE(mentions(run(schedule, {.steps = 3}), "needs weights"));
}

}  // namespace
}  // namespace chimera::testing
