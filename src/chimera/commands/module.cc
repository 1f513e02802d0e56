// The entry point of libchimera_commands.so.
#include "chimera/commands/run_functions.h"

extern "C" __attribute__((visibility("default"))) chimera::RunModule
chimera_run_module() {
  return {.train = chimera::run_train,
          .verify = chimera::run_verify,
          .export_weights = chimera::run_export,
          .doctor = chimera::run_doctor,
          .calibrate = chimera::run_calibrate,
          .sample = chimera::run_sample,
          .eval = chimera::run_eval};
}
