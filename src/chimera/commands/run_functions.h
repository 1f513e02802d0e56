// The functions of this module, one per file; module.cc lists them.
#pragma once

#include "chimera/commands/run_module.h"

namespace chimera {

int run_train(const RunRequest& request);
int run_verify(const RunRequest& request);
int run_export(const RunRequest& request);
int run_doctor(const RunRequest& request);
int run_calibrate(const RunRequest& request);
int run_sample(const RunRequest& request);
int run_eval(const RunRequest& request);

}  // namespace chimera
