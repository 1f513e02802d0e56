// Exceptions of workers become a kind, a sentence and an exit code here, and
// nowhere else.
#pragma once

#include <string>

#include "chimera/base/exit_codes.h"
#include "chimera/base/result.h"
#include "chimera/comm/ending.h"

namespace chimera {

[[nodiscard]] ExitCode exit_code_of(FailureKind kind);

struct Failure {
  FailureKind kind = FailureKind::kInternal;
  std::string text;

  [[nodiscard]] ExitCode code() const { return exit_code_of(kind); }
};

// The failure behind the exception that is being handled.
// REQUIRES: called in a catch block.
[[nodiscard]] Failure current_failure();

// The exit code for mistakes: that of their kind if all are of one, else
// kExitUsage.
[[nodiscard]] ExitCode exit_code_of(const Diagnostics& errors);

}  // namespace chimera
