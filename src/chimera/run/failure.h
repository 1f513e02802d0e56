// What ends a run from inside becomes a sentence and an exit code here, the one
// place where exceptions of workers are told apart.
#pragma once

#include <string>

#include "chimera/base/exit_codes.h"
#include "chimera/base/result.h"

namespace chimera {

struct Failure {
  ExitCode code = kExitInternal;
  std::string text;
};

// Of the exception that is being handled: call it in a catch block.
[[nodiscard]] Failure current_failure();

// Of mistakes: those of data files, or of checkpoints, where all of them are of
// that kind; else of usage.
[[nodiscard]] ExitCode exit_code_of(const Diagnostics& errors);

}  // namespace chimera
