// The work to be put in order, in a form that can be replayed quickly.
//
// A slot is one stage of one pipe. The micro-batches of a pipe are
// interchangeable, so each slot takes them in turn: sorting the times of any
// schedule in this way breaks no dependency and holds no more activations. A
// slot then needs three counters, and an order is a list of (slot, op) for
// every worker.
//
// Opposite pipes with equally many micro-batches are mirror images of each
// other. The problem is then folded: it holds one pipe, on classes of workers
// that do the same (with two pipes, w and D-1-w), and the search is much
// smaller.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "chimera/schedule/costs.h"
#include "chimera/schedule/schedule.h"

namespace chimera::ordering {

// Time in whole ticks, so that equal times compare equal.
using Ticks = std::int64_t;
inline constexpr Ticks kNever = std::numeric_limits<Ticks>::max() / 4;

// The actions of a slot for each micro-batch, in this order.
enum SlotOp : int { kF, kI, kW };
inline constexpr int kSlotOps = 3;

struct Slot {
  int worker = 0;
  int pipe = 0;
  int stage = 0;
  int previous = kNone;  // slot of the stage before
  int next = kNone;
  int micros = 0;
  std::array<Ticks, kSlotOps> cost = {};
  // The first part of I, which needs no gradient: a recomputation.
  Ticks ahead = 0;
  Ticks from_previous = 0;  // time of a message to or from there
  Ticks from_next = 0;
  Ticks tail = 0;         // time of the gradient sum, after the last W
  std::int64_t size = 0;  // room that one activation takes
  std::int64_t kept = 0;  // room that it still takes between I and W
};

// The code that stands for (slot, op).
[[nodiscard]] constexpr int code_of(int slot, int op) {
  return slot * kSlotOps + op;
}
[[nodiscard]] constexpr int slot_of(int code) { return code / kSlotOps; }
[[nodiscard]] constexpr int op_of(int code) { return code % kSlotOps; }

using CodeList = std::vector<int>;
using CodeLists = std::vector<CodeList>;  // [worker]

// The memory a worker may use.
struct MemoryCap {
  double activations = 0;  // in D-ths of the model
  // If set, a limit in bytes (held_bytes() of held.h) instead.
  std::optional<double> bytes;
};

struct Problem {
  int workers = 0;
  int pipes = 1;   // pipes of the placement
  int stages = 0;  // stages of a pipe
  int chunks = 1;
  // One pipe represents all, a worker represents its class.
  bool folded = false;
  std::vector<Slot> slots;
  std::vector<std::vector<int>> slots_of;  // [worker]
  // Room of each worker, in parts of an activation (held.h) or in bytes.
  std::int64_t room = 0;
  // The op that takes the room of an activation: F, or I if only recomputed
  // activations count. The end of I gives size - kept back, W the rest.
  SlotOp holds_from = kF;
  std::vector<Ticks> head;  // [worker]: earliest arrival of an activation
  std::vector<Ticks> work;  // [worker]
  int most_micros = 0;      // most micro-batches of any slot
  int actions = 0;
  double ticks_per_time = 1;

  // The index of a code's n-th micro-batch in tables over all actions.
  [[nodiscard]] std::size_t at(int code, int number) const {
    return static_cast<std::size_t>(code) * most_micros + number;
  }
  [[nodiscard]] Ticks busiest() const;      // work of the busiest worker
  [[nodiscard]] Ticks dearest() const;      // longest action of a chunk
  [[nodiscard]] Ticks longest_hop() const;  // longest message
  // The largest head + work of any worker: no order ends sooner.
  [[nodiscard]] Ticks simple_bound() const;
  // True if every worker can hold one activation of each of its slots.
  // Otherwise some orders would wait for memory forever.
  [[nodiscard]] bool has_room() const;
};

// The end of the last gradient sum of a worker's slots. Sums run one after
// another in the order of `slot_end` [slot], the ends of the slots' last W.
[[nodiscard]] Ticks end_with_sums(const Problem& problem, int worker,
                                  const std::vector<Ticks>& slot_end);

struct ProblemOptions {
  MemoryCap cap;
  bool recompute = false;
  bool fold = true;  // fold if possible
  // With recomputation: true counts an activation from its R, as Simulation
  // does; false counts it from its F, which also limits the micro-batches in
  // flight.
  bool forwards_are_free = false;
};

// The problem of ordering the work of `layout`. Micro-batch m belongs to pipe m
// mod pipes.
[[nodiscard]] Problem make_problem(const Schedule& layout, const Costs& costs,
                                   const ProblemOptions& options);

// True if every worker's list has F before I before W for each micro-batch and
// never exceeds the room.
[[nodiscard]] bool keeps_room(const Problem& problem, const CodeLists& lists);
// The same check for one list; `count` [code] is scratch space.
[[nodiscard]] bool keeps_room(const Problem& problem, const CodeList& list,
                              std::vector<int>& count);

// The actions of every worker of `placement`, with each class running its list
// of `lists`.
[[nodiscard]] ActionLists to_actions(const Problem& problem,
                                     const Placement& placement,
                                     const CodeLists& lists);

// The inverse of to_actions, for a schedule with split backwards that deals
// micro-batches to pipes as the problem does. The first worker of a class
// represents it.
[[nodiscard]] CodeLists to_codes(const Problem& problem,
                                 const Schedule& schedule);

}  // namespace chimera::ordering
