// One function per subcommand, each in its own file. It adds itself to the
// application; when it has been called, it leaves its exit code in `exit_code`.
#pragma once

#include <CLI/CLI.hpp>

namespace chimera {

void add_schedule_command(CLI::App& app, int& exit_code);
void add_schemes_command(CLI::App& app, int& exit_code);
void add_check_command(CLI::App& app, int& exit_code);
void add_simulate_command(CLI::App& app, int& exit_code);
void add_checkpoint_command(CLI::App& app, int& exit_code);
void add_plan_command(CLI::App& app, int& exit_code);
void add_init_command(CLI::App& app, int& exit_code);
void add_completion_command(CLI::App& app, int& exit_code);

// In run_commands.cc: these need libtorch.
void add_train_command(CLI::App& app, int& exit_code);
void add_verify_command(CLI::App& app, int& exit_code);
void add_export_command(CLI::App& app, int& exit_code);
void add_calibrate_command(CLI::App& app, int& exit_code);
void add_doctor_command(CLI::App& app, int& exit_code);

}  // namespace chimera
