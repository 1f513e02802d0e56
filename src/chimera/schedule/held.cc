#include "chimera/schedule/held.h"

#include <algorithm>

#include "chimera/schedule/micro_index.h"

namespace chimera {
namespace {

// [cell]: the micro-batch is held from its R, not its F.
std::vector<bool> recomputed_cells(const Schedule& schedule,
                                   const MicroIndex& index) {
  std::vector<bool> recomputed(index.cells(), false);
  if (!holds_from_recompute(schedule)) return recomputed;
  for (const ActionList& list : schedule.actions) {
    for (const Action& action : list) {
      if (action.op != Op::kR) continue;
      recomputed[index.cell(action.stage, action.micro)] = true;
    }
  }
  return recomputed;
}

// What one micro-batch holds at a stage before and after I.
struct Size {
  std::int64_t whole = 0;
  std::int64_t deferred = 0;
};

// [worker]: the most that it holds at once. `sizes`: [stage].
std::vector<std::int64_t> peaks_of(const Schedule& schedule,
                                   const std::vector<Size>& sizes) {
  const MicroIndex index(schedule);
  const std::vector<bool> recomputed = recomputed_cells(schedule, index);
  struct PartsLeft {
    int input_grad;
    int weight_grad;
  };
  std::vector<PartsLeft> left(index.cells(), {schedule.parts, schedule.parts});
  const auto begins = [&](const Action& action) {
    if (action.op != Op::kF && action.op != Op::kR) return false;
    return recomputed[index.cell(action.stage, action.micro)] ==
           (action.op == Op::kR);
  };
  std::vector<std::int64_t> peaks;
  for (const ActionList& list : schedule.actions) {
    // Micro-batches in flight from earlier steps: one for every step by which
    // the last backward lags behind the forward.
    std::int64_t held = 0;
    for (const Action& action : list) {
      if (begins(action)) held += action.step * sizes[action.stage].whole;
      if (!is_backward(action.op) || action.part + 1 != schedule.parts) {
        continue;
      }
      const Size& size = sizes[action.stage];
      if (gives_gradient(action.op)) {
        held -= action.step * (size.whole - size.deferred);
      }
      if (gives_weight_gradient(action.op)) held -= action.step * size.deferred;
    }
    std::int64_t peak = held;
    for (const Action& action : list) {
      if (begins(action)) held += sizes[action.stage].whole;
      if (is_backward(action.op)) {
        const Size& size = sizes[action.stage];
        PartsLeft& parts = left[index.cell(action.stage, action.micro)];
        if (gives_gradient(action.op) && --parts.input_grad == 0) {
          held -= size.whole - size.deferred;
        }
        if (gives_weight_gradient(action.op) && --parts.weight_grad == 0) {
          held -= size.deferred;
        }
      }
      peak = std::max(peak, held);
    }
    peaks.push_back(peak);
  }
  return peaks;
}

}  // namespace

std::vector<double> peak_held(const Schedule& schedule,
                              const std::vector<double>& omega) {
  std::vector<Size> sizes;
  for (int stage = 0; stage < schedule.stages(); ++stage) {
    const double share = omega.empty() ? 1 : omega[stage];
    sizes.push_back({kActivationParts, deferred_parts(share)});
  }
  std::vector<double> peaks;
  for (const std::int64_t peak : peaks_of(schedule, sizes)) {
    peaks.push_back(static_cast<double>(peak) /
                    static_cast<double>(kActivationParts) / schedule.chunks());
  }
  return peaks;
}

std::vector<double> held_bytes(const Costs& costs) {
  std::vector<double> bytes;
  double input = 0;
  for (const StageCosts& stage : costs.stages) {
    bytes.push_back(stage.activation_bytes + input);
    input = stage.boundary_bytes;
  }
  return bytes;
}

std::vector<double> peak_held_bytes(const Schedule& schedule,
                                    const Costs& costs) {
  std::vector<Size> sizes;
  const std::vector<double> bytes = held_bytes(costs);
  for (int stage = 0; stage < schedule.stages(); ++stage) {
    const double omega = costs.stages[stage].omega;
    sizes.push_back({std::llround(std::ceil(bytes[stage])),
                     std::llround(std::ceil(omega * bytes[stage]))});
  }
  const std::vector<std::int64_t> peaks = peaks_of(schedule, sizes);
  return {peaks.begin(), peaks.end()};
}

}  // namespace chimera
