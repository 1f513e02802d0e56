// How a command or a run ends (README, "Exit codes").
#pragma once

namespace chimera {

enum ExitCode : int {
  kExitDone = 0,
  kExitDifference = 1,  // verify found one
  kExitUsage = 2,       // usage, config, schedule
  kExitData = 3,        // data files, Hugging Face directories
  kExitCheckpoint = 4,  // damaged, or of another model
  kExitPeer = 5,        // a worker is lost
  kExitTimeout = 6,     // a deadline was missed
  kExitNumeric = 7,     // not a number
  kExitDisk = 8,        // the result could not be written
  kExitMemory = 9,      // out of memory
  kExitInternal = 70,   // our own bug
  kExitSaved = 75,      // a complete checkpoint was written: requeue me
  kExitInterrupted = 130,
};

}  // namespace chimera
