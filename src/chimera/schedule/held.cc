#include "chimera/schedule/held.h"

#include <algorithm>

#include "chimera/schedule/micro_index.h"

namespace chimera {
namespace {

// [cell]: the micro-batch is recomputed, so it is held from its R, not its F.
std::vector<bool> recomputed_cells(const Schedule& schedule,
                                   const MicroIndex& index) {
  std::vector<bool> recomputed(index.cells(), false);
  for (const ActionList& list : schedule.actions) {
    for (const Action& action : list) {
      if (action.op != Op::kR) continue;
      recomputed[index.cell(action.stage, action.micro)] = true;
    }
  }
  return recomputed;
}

}  // namespace

std::vector<double> peak_held(const Schedule& schedule) {
  const MicroIndex index(schedule);
  const std::vector<bool> recomputed = recomputed_cells(schedule, index);
  std::vector<int> parts_left(index.cells(), schedule.parts);
  const auto begins = [&](const Action& action) {
    if (action.op != Op::kF && action.op != Op::kR) return false;
    return recomputed[index.cell(action.stage, action.micro)] ==
           (action.op == Op::kR);
  };
  std::vector<double> peaks;
  for (const ActionList& list : schedule.actions) {
    // Micro-batches in flight from earlier steps: one for every step by which
    // the last backward lags behind the forward.
    int held = 0;
    for (const Action& action : list) {
      if (begins(action)) held += action.step;
      if (gives_weight_gradient(action.op) &&
          action.part + 1 == schedule.parts) {
        held -= action.step;
      }
    }
    int peak = held;
    for (const Action& action : list) {
      if (begins(action)) {
        ++held;
      } else if (gives_weight_gradient(action.op)) {
        const size_t cell = index.cell(action.stage, action.micro);
        if (--parts_left[cell] == 0) --held;
      }
      peak = std::max(peak, held);
    }
    peaks.push_back(static_cast<double>(peak) / schedule.chunks());
  }
  return peaks;
}

}  // namespace chimera
