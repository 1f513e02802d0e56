// One function per subcommand, each in its own file. It adds its command to the
// program.
#pragma once

#include "chimera/cli/command.h"

namespace chimera {

void add_schedule_command(Command& program);
void add_schemes_command(Command& program);
void add_check_command(Command& program);
void add_simulate_command(Command& program);
void add_checkpoint_command(Command& program);
void add_report_command(Command& program);
void add_watch_command(Command& program);
void add_plan_command(Command& program);
void add_tokenize_command(Command& program);
void add_init_command(Command& program);
void add_completion_command(Command& program);

// Defined in run_commands.cc: these commands need libtorch.
void add_train_command(Command& program);
void add_verify_command(Command& program);
void add_export_command(Command& program);
void add_calibrate_command(Command& program);
void add_doctor_command(Command& program);
void add_sample_command(Command& program);
void add_eval_command(Command& program);

}  // namespace chimera
