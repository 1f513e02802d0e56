// chimera train: trains by a configuration and leaves a run directory.
#include <fmt/format.h>

#include <iostream>
#include <optional>

#include "chimera/commands/background_stderr.h"
#include "chimera/commands/dry_run.h"
#include "chimera/commands/run_config.h"
#include "chimera/commands/run_functions.h"
#include "chimera/commands/step_line.h"
#include "chimera/console/console.h"
#include "chimera/run/run.h"

namespace chimera {
namespace {

std::string save_text(const SaveResult& save) {
  if (save.path.empty()) {
    return fmt::format(
        "warning: no checkpoint of step {}: {}; training goes on, and earlier "
        "checkpoints are kept",
        save.step, save.error);
  }
  std::string text =
      fmt::format("saved {} in {:.2f} s, of which training waited {:.3f} s",
                  save.path, save.total_s, save.stall_s);
  if (!save.warning.empty()) text += "\nwarning: " + save.warning;
  return text;
}

std::string replan_text(const Replanned& replanned) {
  return fmt::format(
      "{} after step {}: with the measured times a step takes {:.4g} s in the "
      "old order, {:.4g} s in the new one (simulated); replanned.sched",
      replanned.is_repeated ? "went over to schedule.file" : "planned again",
      replanned.step, replanned.before_s, replanned.after_s);
}

bool ends_well(ExitCode code) {
  return code == kExitDone || code == kExitInterrupted || code == kExitSaved;
}

// Shows a run on stderr.
class TrainScreen final : public RunObserver {
 public:
  void on_start(const RunStart& start) override {
    std::cerr << describe(start);
    line_.emplace(*start.setup.config.train.steps,
                  start.setup.config.run.log_every);
  }
  void on_step(const StepReport& report) override { line_->show(report); }
  void on_save(const SaveResult& save) override {
    line_->print(save_text(save));
  }
  void on_replan(const Replanned& replanned) override {
    line_->print(replan_text(replanned));
  }
  void on_end(const RunEnd& end) override {
    if (ends_well(end.code)) write_result(end.run_dir + "\n", "");
  }
  void say(const std::string& lines) override { std::cerr << lines; }
  void before_exit() override { flush_stderr(std::chrono::seconds(1)); }

 private:
  std::optional<StepLine> line_;
};

}  // namespace

int run_train(const RunRequest& request) {
  const BackgroundStderr background;
  Result<RunConfig> config = read_run_config(request);
  if (config && !request.run_dir.empty()) {
    RunConfig elsewhere = *config;
    elsewhere.run.dir = request.run_dir;
    config = elsewhere;
  }
  if (request.dry_run) return dry_run(config, request.resume);
  TrainScreen screen;
  return run(config, {.resume = request.resume, .version = CHIMERA_VERSION},
             screen)
      .code;
}

}  // namespace chimera
