// What ends a run from inside becomes a sentence and an exit code here, the one
// place where exceptions of workers are told apart.
#pragma once

#include <string>

namespace chimera {

struct Failure {
  int exit_code = 0;
  std::string text;
};

// Of the exception that is being handled: call it in a catch block.
[[nodiscard]] Failure current_failure();

}  // namespace chimera
