// The exit codes of commands and runs, as `chimera --help` lists them.
#pragma once

namespace chimera {

enum ExitCode : int {
  kExitDone = 0,
  kExitDifference = 1,  // verify found a difference
  kExitUsage = 2,       // usage, config, schedule
  kExitData = 3,        // bad data files or Hugging Face directories
  kExitCheckpoint = 4,  // the checkpoint is damaged or of another model
  kExitPeer = 5,        // a worker was lost
  kExitTimeout = 6,     // a deadline was missed
  kExitNumeric = 7,     // a loss or gradient is not a finite number
  kExitDisk = 8,        // the result could not be written
  kExitMemory = 9,      // out of memory
  kExitInternal = 70,   // a bug in this program
  kExitSaved = 75,      // stopped early with a complete checkpoint: requeue
  kExitInterrupted = 130,
};

}  // namespace chimera
