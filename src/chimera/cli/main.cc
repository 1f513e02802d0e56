// chimera: one binary, one file per subcommand. Failures become exit codes here
// and nowhere else.
#include <filesystem>
#include <iostream>
#include <new>

#include "chimera/base/check.h"
#include "chimera/base/exit_codes.h"
#include "chimera/base/files.h"
#include "chimera/cli/commands.h"
#include "chimera/console/console.h"

namespace chimera {
namespace {

int run(int argc, char** argv) {
  Command program(
      "chimera",
      "Chimera: trains transformers through pipelines, by schedules that are "
      "proven and simulated before they run.",
      "chimera " CHIMERA_VERSION);
  program.set_footer(
      "Start here:\n"
      "  chimera schedule chimera --depth 4 --micros 4   draw a schedule\n"
      "  chimera simulate 1f1b --depth 8 --micros 8      predict its time\n"
      "  chimera schemes                                 list all schemes\n"
      "  chimera plan --model gpt2-64 --workers 512 --batch 512 --memory 16GB\n"
      "  chimera train -c examples/gpt2_tiny.toml        train a model\n"
      "  chimera report runs/a -o report.html            look at a run\n"
      "  chimera sample runs/a --prompt \"Once\"           generate text\n"
      "\nExit codes: 0 done, 1 verify found a difference, 2 usage, config or\n"
      "schedule, 3 data, 4 checkpoint, 5 worker lost, 6 time-out, 7 not a\n"
      "number, 8 disk, 9 memory, 70 our bug, 75 saved: start me again, 130\n"
      "interrupted.");
  add_schedule_command(program);
  add_schemes_command(program);
  add_check_command(program);
  add_simulate_command(program);
  add_plan_command(program);
  add_tokenize_command(program);
  add_train_command(program);
  add_verify_command(program);
  add_checkpoint_command(program);
  add_report_command(program);
  add_watch_command(program);
  add_export_command(program);
  add_sample_command(program);
  add_eval_command(program);
  add_calibrate_command(program);
  add_doctor_command(program);
  add_init_command(program);
  add_completion_command(program);
  return program.run(argc, argv);
}

}  // namespace
}  // namespace chimera

int main(int argc, char** argv) {
  try {
    return chimera::run(argc, argv);
  } catch (const chimera::IoError& error) {
    std::cerr << "error: " << error.what() << '\n';
    return chimera::kExitDisk;
  } catch (const std::filesystem::filesystem_error& error) {
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
