// Chimera (Li & Hoefler, SC'21): 2f pipes in opposite directions over the same
// workers, merged without a conflict.
//
// The order follows from slots. In a unit of D micro-batches, the forward of
// the pipe's m-th micro-batch on stage s takes slot s + 2m and its backward
// slot 2D-1-s + 2m, the same in every pipe; a worker's order is its slots,
// sorted. Slots grow along every dependency, so the order cannot deadlock.
// Forward doubling gives each forward slot two micro-batches; backward halving
// gives each micro-batch two backward slots (section 3.5).
#include <algorithm>

#include "chimera/schedule/orders/orders.h"
#include "chimera/schedule/placements/placements.h"

namespace chimera {
namespace {

struct Slotted {
  int slot;
  Action action;
};

// One unit: `micros` micro-batches from number `first`, beginning at `slot`.
struct Unit {
  int first;
  int micros;
  int slot;
  int forwards_per_slot = 1;
  int backward_parts = 1;
};

class SlotOrder {
 public:
  SlotOrder(const Layout& layout, const Placement& placement)
      : layout_(layout), placement_(placement), slots_(layout.depth) {}

  // Deals micro-batches to pipes in contiguous blocks, as evenly as possible,
  // earlier pipes first.
  void add(const Unit& unit) {
    int micro = unit.first;
    for (int pipe = 0; pipe < layout_.pipes; ++pipe) {
      const int share = unit.micros / layout_.pipes +
                        (pipe < unit.micros % layout_.pipes ? 1 : 0);
      for (int m = 0; m < share; ++m) add_micro(unit, pipe, micro++, m);
    }
  }

  [[nodiscard]] ActionLists sorted() {
    ActionLists lists(slots_.size());
    for (size_t worker = 0; worker < slots_.size(); ++worker) {
      std::stable_sort(
          slots_[worker].begin(), slots_[worker].end(),
          [](const Slotted& a, const Slotted& b) { return a.slot < b.slot; });
      for (const Slotted& slotted : slots_[worker]) {
        lists[worker].push_back(slotted.action);
      }
    }
    return lists;
  }

 private:
  void add_micro(const Unit& unit, int pipe, int micro, int m) {
    const int D = layout_.depth;
    for (int s = 0; s < D; ++s) {
      const int worker = placement_.worker(pipe, s);
      slots_[worker].push_back(
          {unit.slot + s + 2 * (m / unit.forwards_per_slot),
           compute(Op::kF, pipe, s, micro)});
      for (int part = 0; part < unit.backward_parts; ++part) {
        Action backward = compute(Op::kB, pipe, s, micro);
        backward.part = static_cast<std::uint8_t>(part);
        const int index = m * unit.backward_parts + part;
        slots_[worker].push_back(
            {unit.slot + 2 * D - 1 - s + 2 * index, backward});
      }
    }
  }

  const Layout& layout_;
  const Placement& placement_;
  std::vector<std::vector<Slotted>> slots_;  // [worker]
};

// Places units back to back: a unit starts at the first slot that the unit
// before leaves free on each worker, so that tails and heads interleave.
ActionLists order(const Layout& layout, const Placement& placement) {
  const int D = layout.depth;
  const int N = layout.micros;
  SlotOrder slots(layout, placement);
  int first = 0;
  int slot = 0;
  while (first < N) {
    const int left = N - first;
    // A unit takes as many slots as each worker fills in it: 2D; 3D with
    // doubled forwards (D slots of forwards, 2D of backwards) or with halved
    // backwards (D slots of forwards, 2D of backward halves).
    if (layout.scale == Scale::kDoubling && left >= 2 * D) {
      slots.add({.first = first,
                 .micros = 2 * D,
                 .slot = slot,
                 .forwards_per_slot = 2});
      first += 2 * D;
      slot += 3 * D;
    } else if (layout.scale == Scale::kHalving) {
      slots.add({.first = first,
                 .micros = std::min(left, D),
                 .slot = slot,
                 .backward_parts = 2});
      first += D;
      slot += 3 * D;
    } else {
      slots.add({.first = first, .micros = std::min(left, D), .slot = slot});
      first += D;
      slot += 2 * D;
    }
  }
  return slots.sorted();
}

Diagnostics refuse(const Layout& layout) {
  Diagnostics errors;
  const int D = layout.depth;
  if (D % 2 != 0) errors.push_back(needs_depth_multiple(layout, 2));
  for (Diagnostic& error : needs_opposite_pipes(layout)) {
    errors.push_back(std::move(error));
  }
  if (layout.scale != Scale::kDirect && layout.pipes != 2) {
    errors.push_back({.code = "E204",
                      .found = "pipes = " + std::to_string(layout.pipes),
                      .needed = "must be 2 with --scale " +
                                std::string(name_of(layout.scale)),
                      .hint = "use --pipes 2 or --scale direct"});
  }
  return errors;
}

}  // namespace

Scheme chimera_scheme() {
  return {.name = "chimera",
          .summary = "2f pipes in opposite directions over the same workers",
          .legal =
              "D even, any N, pipes = 2f where f divides D/2 "
              "(doubling, halving: 2 pipes)",
          .makespan =
              "N=D: D*F + (D+D/f-2)*B; N=kD, f=1 direct: D*F + (2D-2)*B + "
              "(k-1)[D(F+B) + (D-2)(B-F)]; N=2kD doubling: (N+D/2-1)(F+B) + "
              "(k-1)(D-2)max(0,B-2F) + (D/2-1)max(0,B-3F); N=kD halving, "
              "B=2F: (3N+D-2)F; all for F <= B",
          .peak = "D-D/(2f)+1 .. D (doubling: up to 2D)",
          .weights = "2f",
          .pipes = 2,
          .any_pipes = true,
          .any_scale = true,
          .refuse = refuse,
          .place = opposite,
          .order = order};
}

}  // namespace chimera
