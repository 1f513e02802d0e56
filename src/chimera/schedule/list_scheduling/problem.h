// The work that is to be put in order, in a form that can be replayed quickly.
//
// A slot is one stage of one pipe. Micro-batches of a pipe are interchangeable,
// so each slot takes them in turn: sorting the times of any schedule in this
// way breaks no dependency and holds no more activations. A slot then needs
// three counters, and an order is a list of (slot, op) for every worker.
//
// Opposite pipes with equally many micro-batches are mirror images of each
// other. Then the problem is folded: it holds one pipe, on classes of workers
// that do the same (with two pipes w and D-1-w), and the search is far smaller.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "chimera/schedule/costs.h"
#include "chimera/schedule/schedule.h"

namespace chimera::ordering {

// Time in whole numbers, so that equal times compare equal.
using Ticks = std::int64_t;
inline constexpr Ticks kNever = std::numeric_limits<Ticks>::max() / 4;

// What a slot does with each micro-batch, in this order.
enum SlotOp : int { kF, kI, kW };
inline constexpr int kSlotOps = 3;

struct Slot {
  int worker = 0;
  int pipe = 0;
  int stage = 0;
  int previous = kNone;  // slots of the neighbouring stages
  int next = kNone;
  int micros = 0;
  std::array<Ticks, kSlotOps> cost = {};
  // Leading part of I that needs no gradient: a recomputation.
  Ticks ahead = 0;
  Ticks from_previous = 0;  // how long a message to or from there takes
  Ticks from_next = 0;
  Ticks tail = 0;         // the gradient sum, from the last W on
  std::int64_t size = 1;  // of one activation
};

// A slot and an op in one number.
[[nodiscard]] constexpr int code_of(int slot, int op) {
  return slot * kSlotOps + op;
}
[[nodiscard]] constexpr int slot_of(int code) { return code / kSlotOps; }
[[nodiscard]] constexpr int op_of(int code) { return code % kSlotOps; }

using CodeList = std::vector<int>;
using CodeLists = std::vector<CodeList>;  // [worker]

// What a worker may hold.
struct MemoryCap {
  double activations = 0;  // in D-ths of the model
  // If present, a limit in bytes (StageCosts::activation_bytes) instead.
  std::optional<double> bytes;
};

struct Problem {
  int workers = 0;
  int pipes = 1;   // of the placement
  int stages = 0;  // of a pipe
  int chunks = 1;
  bool folded = false;  // one pipe stands for all, a worker for its class
  std::vector<Slot> slots;
  std::vector<std::vector<int>> slots_of;  // [worker]
  std::int64_t room = 0;                   // of every worker
  // The op that takes room until W gives it back: F, or I where only
  // recomputed activations count.
  SlotOp holds_from = kF;
  std::vector<Ticks> head;  // [worker] earliest arrival of an activation
  std::vector<Ticks> work;  // [worker]
  int most_micros = 0;      // of a slot
  int actions = 0;
  double ticks_per_time = 1;

  // Index of the n-th micro-batch of a code in tables over all actions.
  [[nodiscard]] std::size_t at(int code, int number) const {
    return static_cast<std::size_t>(code) * most_micros + number;
  }
  [[nodiscard]] Ticks busiest() const;      // worker's work
  [[nodiscard]] Ticks dearest() const;      // action of a chunk
  [[nodiscard]] Ticks longest_hop() const;  // of a message
  // head + work of the latest worker: no order ends sooner.
  [[nodiscard]] Ticks simple_bound() const;
  // True if every worker can hold one activation of each of its slots. Without
  // that some orders would wait for memory forever.
  [[nodiscard]] bool has_room() const;
};

// End of the last gradient sum of a worker's slots. Sums run one after another
// in the order of `slot_end` [slot], the ends of the slots' weight gradients.
[[nodiscard]] Ticks end_with_sums(const Problem& problem, int worker,
                                  const std::vector<Ticks>& slot_end);

struct ProblemOptions {
  MemoryCap cap;
  bool recompute = false;
  bool fold = true;  // where possible
  // With recomputation: true counts an activation from R on, as Simulation
  // does; false from F on, which also bounds the micro-batches in flight.
  bool forwards_are_free = false;
};

// Micro-batch m belongs to pipe m mod pipes.
[[nodiscard]] Problem make_problem(const Schedule& layout, const Costs& costs,
                                   const ProblemOptions& options);

// True if every worker's list has F before I before W of each micro-batch and
// never holds more than the room.
[[nodiscard]] bool keeps_room(const Problem& problem, const CodeLists& lists);
// The same of one list; `count` is scratch, [code].
[[nodiscard]] bool keeps_room(const Problem& problem, const CodeList& list,
                              std::vector<int>& count);

// The actions of every worker of `placement` if each class runs `lists`.
[[nodiscard]] ActionLists to_actions(const Problem& problem,
                                     const Placement& placement,
                                     const CodeLists& lists);

// The inverse of to_actions, for a schedule with split backwards that deals
// micro-batches to pipes as the problem does. The first worker of a class
// represents all of it.
[[nodiscard]] CodeLists to_codes(const Problem& problem,
                                 const Schedule& schedule);

}  // namespace chimera::ordering
