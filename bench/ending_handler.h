// The end of a benchmark's process when a rank fails: one line, exit code 1.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "chimera/comm/ending.h"

namespace chimera {

class BenchEnding final : public EndingHandler {
 public:
  [[nodiscard]] Cause cause_of_exception() override {
    return {.reason = "failed"};
  }
  void report(const Ending& ending) override {
    std::cerr << ending.reason + '\n';
  }
  [[noreturn]] void leave(FailureKind /*kind*/) override {
    _exit(EXIT_FAILURE);
  }
};

}  // namespace chimera
