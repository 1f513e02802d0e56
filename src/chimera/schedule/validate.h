// Proof before anything runs. `validate` finds every way in which a schedule,
// generated or hand-edited, would compute something wrong or never finish.
//
// The model it proves is the harshest a transport may be: a send blocks until
// its receive is posted, and a worker's gradient sums complete in the order in
// which it started them. A schedule that passes finishes under that model, and
// therefore under any kinder one.
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
  int worker = kNone;    // kNone: of the schedule as a whole
  int position = kNone;  // index in the worker's list; kNone: of no action
  Action action;         // meaningful where position is not kNone, or where
                         // an action is missing
  std::string reason;

  bool operator==(const Violation&) const = default;
};

struct ValidateOptions {
  // The most activations a worker may hold, in D-ths of the model.
  std::optional<double> cap;
};

// All violations, in order of worker and position. Of one kind at most 100 are
// listed; one more then says how many there are besides.
[[nodiscard]] std::vector<Violation> validate(
    const Schedule& schedule, const ValidateOptions& options = {});

[[nodiscard]] Diagnostic to_diagnostic(const Violation& violation);
[[nodiscard]] Diagnostics to_diagnostics(
    const std::vector<Violation>& violations);

}  // namespace chimera
