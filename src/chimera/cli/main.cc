// chimera: one binary, one file per subcommand. This is the one place where
// what went wrong becomes an exit code.
#include <CLI/CLI.hpp>
#include <iostream>
#include <new>

#include "chimera/base/check.h"
#include "chimera/base/files.h"
#include "chimera/base/text.h"
#include "chimera/cli/commands.h"
#include "chimera/cli/console.h"
#include "chimera/cli/exit_codes.h"

namespace chimera {
namespace {

int unknown_command(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    names.push_back(command->get_name());
  }
  const std::vector<std::string> rest = app.remaining();
  if (rest.empty()) {
    std::cerr << app.help();
    return kExitUsage;
  }
  const std::string near = nearest_name(rest[0], names);
  return print_errors(
      {{.code = "E401",
        .found = "\"" + shown(rest[0]) + "\"",
        .needed = "is not a command",
        .hint = near.empty() ? "one of " + join(names, ", ")
                             : "did you mean \"" + near + "\"?"}});
}

int run(int argc, char** argv) {
  CLI::App app(
      "Chimera: trains transformers through pipelines, by schedules that are "
      "proven and simulated before they run.",
      "chimera");
  app.set_version_flag("--version", "chimera " CHIMERA_VERSION);
  app.allow_extras();
  app.footer(
      "Start here:\n"
      "  chimera schedule chimera --depth 4 --micros 4   draw a schedule\n"
      "  chimera simulate 1f1b --depth 8 --micros 8      what it would take\n"
      "  chimera schemes                                 every scheme\n"
      "  chimera plan --model gpt2-64 --workers 512 --batch 512 --memory 16GB\n"
      "  chimera train -c examples/gpt2_tiny.toml        train a model\n"
      "\nExit codes: 0 done, 1 verify found a difference, 2 usage, config or\n"
      "schedule, 3 data, 4 checkpoint, 5 worker lost, 6 time-out, 7 not a\n"
      "number, 8 disk, 9 memory, 70 our bug, 75 saved: start me again, 130\n"
      "interrupted.");
  int exit_code = kExitUsage;
  add_schedule_command(app, exit_code);
  add_schemes_command(app, exit_code);
  add_check_command(app, exit_code);
  add_simulate_command(app, exit_code);
  add_plan_command(app, exit_code);
  add_train_command(app, exit_code);
  add_verify_command(app, exit_code);
  add_checkpoint_command(app, exit_code);
  add_export_command(app, exit_code);
  add_calibrate_command(app, exit_code);
  add_doctor_command(app, exit_code);
  add_init_command(app, exit_code);
  add_completion_command(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Help and version come this way too, with code 0.
    if (error.get_exit_code() == 0) return app.exit(error);
    return print_errors({{.code = "E401", .found = error.what()}});
  }
  return app.get_subcommands().empty() ? unknown_command(app) : exit_code;
}

}  // namespace
}  // namespace chimera

int main(int argc, char** argv) {
  try {
    return chimera::run(argc, argv);
  } catch (const chimera::IoError& error) {
    std::cerr << "error: " << error.what() << '\n';
    return chimera::kExitDisk;
  } catch (const std::bad_alloc&) {
    std::cerr << "error: out of memory; use a smaller depth, micros or steps\n";
    return chimera::kExitMemory;
  } catch (const std::exception& error) {
    std::cerr << "internal error: " << error.what()
              << "\nThis is a bug in chimera: please report it with the "
                 "command line.\n";
    return chimera::kExitInternal;
  }
}
