// Proves a schedule before it runs. `validate` finds every way in which a
// schedule, generated or edited by hand, would compute something wrong or never
// finish.
//
// The proof assumes the strictest transport: a send blocks until its receive is
// posted, and a worker's gradient sums complete in the order in which it
// started them. A schedule that passes finishes under that model, and therefore
// on every transport that is less strict.
//
// Complexity: linear in the number of actions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/schedule/schedule.h"

namespace chimera {

struct Violation {
  std::string code;      // "E301"; docs/errors.md lists them
  int worker = kNone;    // kNone: concerns the whole schedule
  int position = kNone;  // index in the worker's list; kNone: no action
  Action action;  // set if position is not kNone, or if this action is missing
  std::string reason;

  bool operator==(const Violation&) const = default;
};

struct ValidateOptions {
  // The most activations a worker may hold, in D-ths of the model.
  std::optional<double> cap;
  // [stage]: the share of an activation that counts between I and W; empty: 1.
  std::vector<double> omega = {};
};

// All violations, ordered by worker and position. At most 100 of one kind are
// listed; one more then tells how many were left out.
[[nodiscard]] std::vector<Violation> validate(
    const Schedule& schedule, const ValidateOptions& options = {});

[[nodiscard]] Diagnostic to_diagnostic(const Violation& violation);
[[nodiscard]] Diagnostics to_diagnostics(
    const std::vector<Violation>& violations);

}  // namespace chimera
