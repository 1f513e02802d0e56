// The contract's exit codes (README, "Exit codes").
#pragma once

namespace chimera {

enum ExitCode : int {
  kExitDone = 0,
  kExitUsage = 2,      // usage, config, schedule
  kExitDisk = 8,       // the result could not be written
  kExitMemory = 9,     // out of memory
  kExitInternal = 70,  // our own bug
};

}  // namespace chimera
