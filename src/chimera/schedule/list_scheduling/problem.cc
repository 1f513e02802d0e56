#include "chimera/schedule/list_scheduling/problem.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "chimera/base/check.h"
#include "chimera/schedule/held.h"

namespace chimera::ordering {
namespace {

// Ticks of the most expensive action in layouts of usual size. Halves, thirds,
// fifths, ... of it are whole numbers.
constexpr double kDearest = 720720.0 * (1 << 20);

// [worker]: its class, if all pipes of the placement are images of pipe 0.
// Empty if a worker holds a stage for two pipes, or if two workers share one
// stage but not another.
std::vector<int> classes_of(const Placement& placement) {
  std::vector<int> classes(placement.workers, kNone);
  int count = 0;
  for (int stage = 0; stage < placement.stages(); ++stage) {
    std::vector<int> holders(placement.pipes());
    for (int pipe = 0; pipe < placement.pipes(); ++pipe) {
      holders[pipe] = placement.worker(pipe, stage);
    }
    const int known = classes[holders[0]];
    for (const int worker : holders) {
      if (classes[worker] != known) return {};
    }
    std::sort(holders.begin(), holders.end());
    if (std::adjacent_find(holders.begin(), holders.end()) != holders.end()) {
      return {};
    }
    if (known != kNone) continue;
    for (const int worker : holders) classes[worker] = count;
    ++count;
  }
  return classes;
}

bool is_near(const Placement& placement, int pipe, int stage) {
  return placement.worker(pipe, stage) == placement.worker(pipe, stage + 1);
}

double message_after(const Schedule& layout, const Costs& costs, int pipe,
                     int stage) {
  const Placement& placement = layout.placement;
  return message_time(costs,
                      {.from = placement.worker(pipe, stage),
                       .to = placement.worker(pipe, stage + 1),
                       .workers = placement.workers,
                       .width = layout.width},
                      costs.stages[stage].boundary_bytes)
      .total();
}

// True if neighbouring stages are on the same worker either in all pipes or in
// none, and their messages take the same time in all.
bool has_equal_hops(const Schedule& layout, const Costs& costs) {
  const Placement& placement = layout.placement;
  for (int stage = 0; stage + 1 < placement.stages(); ++stage) {
    for (int pipe = 1; pipe < placement.pipes(); ++pipe) {
      if (is_near(placement, pipe, stage) != is_near(placement, 0, stage)) {
        return false;
      }
      if (costs.node && message_after(layout, costs, pipe, stage) !=
                            message_after(layout, costs, 0, stage)) {
        return false;
      }
    }
  }
  return true;
}

class Maker {
 public:
  Maker(const Schedule& layout, const Costs& costs,
        const ProblemOptions& options)
      : layout_(layout),
        costs_(costs),
        options_(options),
        held_bytes_(held_bytes(costs)) {}

  Problem make() {
    fold();
    set_unit();
    const double room = options_.cap.bytes.value_or(
        (options_.cap.activations * layout_.chunks() + 1e-9) *
        static_cast<double>(kActivationParts));
    constexpr double kUnlimited = 1e17;
    problem_.room =
        static_cast<std::int64_t>(std::floor(std::min(room, kUnlimited)));
    problem_.holds_from = options_.forwards_are_free ? kI : kF;
    problem_.slots_of.resize(problem_.workers);
    const int planned_pipes = problem_.folded ? 1 : layout_.pipes();
    for (int pipe = 0; pipe < planned_pipes; ++pipe) {
      for (int stage = 0; stage < layout_.stages(); ++stage) {
        add_slot(pipe, stage);
      }
    }
    find_heads();
    return std::move(problem_);
  }

 private:
  void fold() {
    const Placement& placement = layout_.placement;
    problem_.pipes = placement.pipes();
    problem_.stages = placement.stages();
    problem_.chunks = layout_.chunks();
    problem_.workers = placement.workers;
    class_of_.resize(placement.workers);
    std::iota(class_of_.begin(), class_of_.end(), 0);
    if (!options_.fold || placement.pipes() == 1 ||
        layout_.micros % placement.pipes() != 0 ||
        !has_equal_hops(layout_, costs_)) {
      return;
    }
    const std::vector<int> classes = classes_of(placement);
    if (classes.empty()) return;
    problem_.folded = true;
    problem_.workers = placement.workers / placement.pipes();
    class_of_ = classes;
  }

  // The time of the gradient sum over the holders of a stage.
  [[nodiscard]] double sum_of(int stage) const {
    SumGroup holders;
    for (int pipe = 0; pipe < layout_.pipes(); ++pipe) {
      holders.members.push_back({pipe, stage});
    }
    return sum_time(costs_, layout_, holders);
  }

  // The longest time of a message of `bytes`, whichever link it takes.
  [[nodiscard]] double dearest_message(double bytes) const {
    const double time = costs_.latency + (costs_.time_per_message +
                                          costs_.time_per_byte * bytes);
    if (!costs_.node) return time;
    return std::max(time, costs_.node->latency + costs_.time_per_message +
                              costs_.node->time_per_byte * bytes);
  }

  // Sets the length of a tick: short enough that rounding is invisible, long
  // enough that all work and all messages one after another stay far below
  // kNever.
  void set_unit() {
    double dearest = 0;
    double all = 0;
    for (int stage = 0; stage < layout_.stages(); ++stage) {
      const StageCosts& costs = costs_.stages[stage];
      const double message = dearest_message(costs.boundary_bytes);
      const double sum = sum_of(stage);
      dearest = std::max({dearest, costs.forward, costs.input_grad,
                          costs.weight_grad, costs.update, message, sum});
      all += layout_.micros * (2 * costs.forward + costs.input_grad +
                               costs.weight_grad + 2 * message) +
             layout_.pipes() * (sum + costs.update);
    }
    constexpr double kMost = static_cast<double>(kNever) / 16;
    if (dearest <= 0) return;
    problem_.ticks_per_time =
        std::min({kDearest / dearest, kMost / all, 1e300});
  }

  [[nodiscard]] Ticks ticks(double time) const {
    return std::llround(time * problem_.ticks_per_time);
  }

  // The time of a message between stage `lower` and the next one.
  [[nodiscard]] Ticks hop(int pipe, int lower) const {
    if (is_near(layout_.placement, pipe, lower)) return 0;
    return ticks(message_after(layout_, costs_, pipe, lower));
  }

  void add_slot(int pipe, int stage) {
    const int self = static_cast<int>(problem_.slots.size());
    const StageCosts& costs = costs_.stages[stage];
    Slot slot{.worker = class_of_[layout_.placement.worker(pipe, stage)],
              .pipe = pipe,
              .stage = stage};
    const int pipes = layout_.pipes();
    slot.micros = (layout_.micros + pipes - 1 - pipe) / pipes;
    slot.cost = {ticks(costs.forward), ticks(costs.input_grad),
                 ticks(costs.weight_grad)};
    if (options_.recompute) {
      slot.ahead = ticks(costs.recompute_time());
      slot.cost[kI] += slot.ahead;
    }
    if (stage > 0) {
      slot.previous = self - 1;
      slot.from_previous = hop(pipe, stage - 1);
    }
    if (stage + 1 < layout_.stages()) {
      slot.next = self + 1;
      slot.from_next = hop(pipe, stage);
    }
    slot.tail = ticks(sum_of(stage));
    slot.size = kActivationParts;
    slot.kept = deferred_parts(costs.omega);
    if (options_.cap.bytes) {
      slot.size = std::llround(std::ceil(held_bytes_[stage]));
      slot.kept = std::llround(std::ceil(costs.omega * held_bytes_[stage]));
    }
    problem_.most_micros = std::max(problem_.most_micros, slot.micros);
    problem_.actions += kSlotOps * slot.micros;
    problem_.slots_of[slot.worker].push_back(self);
    problem_.slots.push_back(slot);
  }

  void find_heads() {
    problem_.head.assign(problem_.workers, kNever);
    problem_.work.assign(problem_.workers, 0);
    Ticks arrival = 0;
    for (const Slot& slot : problem_.slots) {
      if (slot.previous == kNone) arrival = 0;
      arrival += slot.from_previous;
      Ticks& head = problem_.head[slot.worker];
      if (slot.micros > 0) head = std::min(head, arrival);
      arrival += slot.cost[kF];
      problem_.work[slot.worker] +=
          slot.micros * (slot.cost[kF] + slot.cost[kI] + slot.cost[kW]);
    }
    for (Ticks& head : problem_.head) head = head == kNever ? 0 : head;
  }

  const Schedule& layout_;
  const Costs& costs_;
  const ProblemOptions& options_;
  std::vector<double> held_bytes_;  // [stage]
  std::vector<int> class_of_;       // [worker]
  Problem problem_;
};

// [worker]: the worker of the problem that represents it.
std::vector<int> planned_worker_of(const Problem& problem,
                                   const Placement& placement) {
  std::vector<int> of(placement.workers);
  std::iota(of.begin(), of.end(), 0);
  if (!problem.folded) return of;
  for (const Slot& slot : problem.slots) {
    for (int pipe = 0; pipe < placement.pipes(); ++pipe) {
      of[placement.worker(pipe, slot.stage)] = slot.worker;
    }
  }
  return of;
}

}  // namespace

Ticks Problem::busiest() const {
  return *std::max_element(work.begin(), work.end());
}

Ticks Problem::dearest() const {
  Ticks most = 0;
  for (const Slot& slot : slots) {
    most = std::max({most, slot.cost[kF], slot.cost[kI], slot.cost[kW]});
  }
  return most;
}

Ticks Problem::longest_hop() const {
  Ticks longest = 0;
  for (const Slot& slot : slots) longest = std::max(longest, slot.from_next);
  return longest;
}

Ticks Problem::simple_bound() const {
  Ticks bound = 0;
  for (int worker = 0; worker < workers; ++worker) {
    bound = std::max(bound, head[worker] + work[worker]);
  }
  return bound;
}

bool Problem::has_room() const {
  for (const std::vector<int>& held : slots_of) {
    std::int64_t needed = 0;
    for (const int slot : held) needed += slots[slot].size;
    if (needed > room) return false;
  }
  return true;
}

Ticks end_with_sums(const Problem& problem, int worker,
                    const std::vector<Ticks>& slot_end) {
  const std::vector<int>& slots = problem.slots_of[worker];
  Ticks end = 0;
  // Sums that run without a pause: they start at some slot's end and follow one
  // another.
  for (const int first : slots) {
    Ticks tails = 0;
    for (const int slot : slots) {
      if (slot_end[slot] >= slot_end[first]) tails += problem.slots[slot].tail;
    }
    end = std::max(end, slot_end[first] + tails);
  }
  return end;
}

Problem make_problem(const Schedule& layout, const Costs& costs,
                     const ProblemOptions& options) {
  CHIMERA_CHECK_EQ(static_cast<int>(costs.stages.size()), layout.stages());
  return Maker(layout, costs, options).make();
}

bool keeps_room(const Problem& problem, const CodeLists& lists) {
  std::vector<int> count(problem.slots.size() * kSlotOps);
  return std::all_of(lists.begin(), lists.end(), [&](const CodeList& list) {
    return keeps_room(problem, list, count);
  });
}

bool keeps_room(const Problem& problem, const CodeList& list,
                std::vector<int>& count) {
  std::fill(count.begin(), count.end(), 0);
  std::int64_t used = 0;
  for (const int code : list) {
    const int number = count[code]++;
    const Slot& slot = problem.slots[slot_of(code)];
    if (op_of(code) != kF && number >= count[code - 1]) return false;
    if (op_of(code) == problem.holds_from) used += slot.size;
    if (used > problem.room) return false;
    if (op_of(code) == kI) used -= slot.size - slot.kept;
    if (op_of(code) == kW) used -= slot.kept;
  }
  return true;
}

ActionLists to_actions(const Problem& problem, const Placement& placement,
                       const CodeLists& lists) {
  constexpr Op kOps[kSlotOps] = {Op::kF, Op::kI, Op::kW};
  const std::vector<int> planned = planned_worker_of(problem, placement);
  ActionLists actions(placement.workers);
  // [slot]: the pipe of its stage on this worker; it differs between the
  // workers of a class.
  std::vector<int> pipe_of(problem.slots.size());
  std::vector<int> counts(problem.slots.size() * kSlotOps);
  for (int worker = 0; worker < placement.workers; ++worker) {
    std::fill(counts.begin(), counts.end(), 0);
    for (const int slot : problem.slots_of[planned[worker]]) {
      const Slot& it = problem.slots[slot];
      pipe_of[slot] = it.pipe;
      while (placement.worker(pipe_of[slot], it.stage) != worker) {
        ++pipe_of[slot];
      }
    }
    for (const int code : lists[planned[worker]]) {
      const int pipe = pipe_of[slot_of(code)];
      actions[worker].push_back(
          {.op = kOps[op_of(code)],
           .pipe = pipe,
           .stage = problem.slots[slot_of(code)].stage,
           .micro = counts[code]++ * problem.pipes + pipe});
    }
  }
  return actions;
}

CodeLists to_codes(const Problem& problem, const Schedule& schedule) {
  const std::vector<int> planned =
      planned_worker_of(problem, schedule.placement);
  CodeLists lists(problem.workers);
  for (int worker = 0; worker < schedule.workers(); ++worker) {
    CodeList& list = lists[planned[worker]];
    if (!list.empty()) continue;
    for (const Action& action : schedule.actions[worker]) {
      const int pipe = problem.folded ? 0 : action.pipe;
      const int op = action.op == Op::kF ? kF : action.op == Op::kI ? kI : kW;
      list.push_back(code_of(pipe * problem.stages + action.stage, op));
    }
  }
  return lists;
}

}  // namespace chimera::ordering
