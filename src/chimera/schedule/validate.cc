#include "chimera/schedule/validate.h"

#include <algorithm>
#include <cstdint>

#include "chimera/base/text.h"
#include "chimera/schedule/cell.h"
#include "chimera/schedule/held.h"
#include "chimera/schedule/validate_rules.h"

namespace chimera {
namespace {

// REQUIRES: every worker of the placement exists.
std::string idle_worker_error(const Placement& placement) {
  std::vector<bool> holds(placement.workers, false);
  for (const std::vector<int>& row : placement.worker_of) {
    for (const int worker : row) holds[worker] = true;
  }
  const auto idle = std::find(holds.begin(), holds.end(), false);
  if (idle == holds.end()) return {};
  return "worker " + std::to_string(idle - holds.begin()) +
         " holds no stage; every worker must hold one";
}

// Checks the schedule's counts before they are used. A file may claim any
// counts; after this check they are bounded by the lists it holds.
std::string shape_error(const Schedule& schedule) {
  const Placement& placement = schedule.placement;
  if (schedule.depth < 1) return "depth must be at least 1";
  if (placement.workers != schedule.depth) {
    return "workers must equal depth = " + std::to_string(schedule.depth);
  }
  if (static_cast<int>(schedule.actions.size()) != placement.workers) {
    return "there must be one action list for each of " +
           std::to_string(placement.workers) + " workers, found " +
           std::to_string(schedule.actions.size());
  }
  if (placement.pipes() < 1) return "the placement has no pipe";
  if (schedule.scheme.empty()) return "the scheme must have a name";
  if (schedule.width < 1) return "width must be at least 1";
  if (std::int64_t{schedule.depth} * schedule.width > kMostWorkers) {
    return "depth x width must be at most " + std::to_string(kMostWorkers);
  }
  if (schedule.parts < 1 || schedule.parts > 2) return "parts must be 1 or 2";
  if (schedule.recomputed_layers < 0) return "recompute must be at least 1";
  if (schedule.recomputed_layers > 0 && !recomputation(schedule)) {
    return "recompute = " + std::to_string(schedule.recomputed_layers) +
           " needs an R that recomputes these layers";
  }
  if (schedule.micros < 1) return "micros must be at least 1";
  if (placement.stages() < 1 || placement.stages() % schedule.depth != 0) {
    return "stages = " + std::to_string(placement.stages()) +
           " must be a multiple of depth = " + std::to_string(schedule.depth);
  }
  for (const std::vector<int>& row : placement.worker_of) {
    if (static_cast<int>(row.size()) != placement.stages()) {
      return "every pipe of the placement must have the same stages";
    }
    for (const int worker : row) {
      if (worker < 0 || worker >= placement.workers) {
        return "the placement names worker " + std::to_string(worker) +
               ", the last is " + std::to_string(placement.workers - 1);
      }
    }
  }
  const std::int64_t forwards =
      std::int64_t{placement.stages()} * schedule.micros;
  const auto actions = static_cast<std::int64_t>(num_actions(schedule));
  if (forwards > actions) {
    return "stages x micros = " + std::to_string(forwards) +
           " forwards are needed, but there are only " +
           std::to_string(actions) + " actions in all";
  }
  return idle_worker_error(placement);
}

void check_cap(const Schedule& schedule, const ValidateOptions& options,
               std::vector<Violation>& violations) {
  const double cap = *options.cap;
  const std::vector<double> peak = peak_held(schedule, options.omega);
  for (int worker = 0; worker < schedule.workers(); ++worker) {
    if (peak[worker] <= cap + 1e-9) continue;
    violations.push_back({"E320", worker, kNone, Action{},
                          "holds " + number(peak[worker]) +
                              " activations, the cap is " + number(cap)});
  }
}

}  // namespace

std::vector<Violation> validate(const Schedule& schedule,
                                const ValidateOptions& options) {
  std::vector<Violation> violations;
  if (std::string error = shape_error(schedule); !error.empty()) {
    violations.push_back({"E300", kNone, kNone, Action{}, error});
    return violations;
  }
  validating::Rules rules(schedule, violations);
  rules.check_actions();
  rules.check_complete();
  rules.check_compute_order();
  if (is_lowered(schedule)) {
    rules.check_messages();
    rules.check_sums();
    rules.check_votes();
    rules.check_verdicts();
  }
  rules.check_updates();
  rules.check_cycles();
  rules.count_unreported();
  if (options.cap && violations.empty()) {
    check_cap(schedule, options, violations);
  }
  std::stable_sort(violations.begin(), violations.end(),
                   [](const Violation& a, const Violation& b) {
                     return std::pair(a.worker, a.position) <
                            std::pair(b.worker, b.position);
                   });
  return violations;
}

Diagnostics to_diagnostics(const std::vector<Violation>& violations) {
  Diagnostics diagnostics;
  diagnostics.reserve(violations.size());
  for (const Violation& violation : violations) {
    diagnostics.push_back(to_diagnostic(violation));
  }
  return diagnostics;
}

Diagnostic to_diagnostic(const Violation& violation) {
  Diagnostic diagnostic{.code = violation.code, .found = violation.reason};
  if (violation.worker != kNone) {
    diagnostic.where = "worker " + std::to_string(violation.worker);
    if (violation.position != kNone) {
      diagnostic.where += ", action " + std::to_string(violation.position) +
                          " (" + to_cell(violation.action) + ")";
    }
  }
  return diagnostic;
}

}  // namespace chimera
