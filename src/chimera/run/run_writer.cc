#include "chimera/run/run_writer.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "chimera/base/files.h"
#include "chimera/base/host_name.h"
#include "chimera/base/text.h"
#include "chimera/comm/comm_error.h"
#include "chimera/config/print.h"
#include "chimera/model/memory_meter.h"
#include "chimera/run/cores.h"
#include "chimera/run/machine_file.h"
#include "chimera/run/timeline.h"
#include "chimera/schedule/forms.h"
#include "chimera/trace/chrome.h"
#include "chimera/train/peak_flops.h"
#include "chimera/train/saving.h"

namespace chimera {
namespace {

std::string bad_text(const BadStep& bad) {
  std::string text = fmt::format("step {}: ", bad.step);
  if (!bad.place) return text + "gradient or weights are not numbers";
  return text + fmt::format("stage {}, micro-batch {}: not a number",
                            bad.place->stage, bad.place->micro);
}

// The exit code of training alone, whether or not its results could be written.
ExitCode code_of(const TrainOutcome& outcome, const RunSetup& setup) {
  if (outcome.bad) return kExitNumeric;
  const bool cut_short =
      outcome.interrupted && outcome.steps < *setup.config.train.steps;
  // Only a checkpoint of the very last step lets a launcher start the run again
  // without loss.
  if (cut_short && outcome.wants_save) {
    return outcome.saved == outcome.steps ? kExitSaved : kExitDisk;
  }
  if (outcome.has_unsaved) return kExitDisk;
  return cut_short ? kExitInterrupted : kExitDone;
}

// Peak resident memory of this process.
double resident_bytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return 1024.0 * static_cast<double>(usage.ru_maxrss);
}

// Processors that the ranks share, if they are all on this host and compute
// with a thread each or more; 0 if each has its own.
int shared_cores(const RunStart& start) {
  const bool is_one_host =
      start.hosts.empty() ||
      std::count(start.hosts.begin(), start.hosts.end(), start.hosts[0]) ==
          static_cast<std::ptrdiff_t>(start.hosts.size());
  if (!is_one_host || start.setup.is_emulated()) return 0;
  return std::max(1, usable_cores() / std::max(1, start.setup.threads));
}

double seconds_since_1970() {
  return std::chrono::duration<double>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Directory on another disk than the run's, for weights that do not fit there.
std::string fallback_directory(const std::string& run_dir) {
  namespace fs = std::filesystem;
  const std::string name =
      fs::absolute(run_dir).lexically_normal().filename().string();
  return (fs::temp_directory_path() /
          fmt::format("chimera-{}-{}", name, getpid()))
      .string();
}

}  // namespace

void RunWriter::start() {
  if (options_.directory == nullptr) return;
  write_file(directory().file("schedule.sched"), to_sched(setup().schedule));
  write_file(directory().file("machine.json"), machine_json(options_.start));
  steps_ = setup().start.step;
  if (!options_.start.resumed.empty()) {
    std::string text = options_.start.resumed;
    while (text.ends_with('\n')) text.pop_back();
    note("resume", text);
  }
  if (setup().config.run.tensorboard) try_to([&] { open_tensorboard(); });
  check_space();
}

void RunWriter::note(const std::string& kind, const std::string& text) const {
  if (options_.directory == nullptr) return;
  try {
    directory().add_event(steps_, kind, text);
  } catch (const IoError&) {
    return;  // the run's page lacks one mark
  }
}

void RunWriter::warn(const std::string& text) const {
  options_.observer.say("warning: " + text + "\n");
  note("warning", text);
}

void RunWriter::open_tensorboard() {
  const double now = seconds_since_1970();
  tensorboard_.emplace(directory().file("tensorboard"),
                       fmt::format("{}.{}", host_name(), getpid()), now);
  const std::string config = print_run_config(setup().config);
  std::string text;
  for (const std::string_view line : split(config, '\n')) {
    text += "    " + std::string(line) + "\n";
  }
  tensorboard_->add_text(steps_, now, "config", text);
}

void RunWriter::write_tensorboard(const StepReport& report) {
  if (!tensorboard_) return;
  Scalars scalars = {{"train/loss", report.loss},
                     {"train/grad_norm", report.grad_norm},
                     {"train/lr", report.lr},
                     {"speed/tokens_per_s", report.tokens_per_s},
                     {"speed/step_s", report.step_s},
                     {"speed/bubble", report.bubble}};
  if (report.mfu > 0) scalars.emplace_back("speed/mfu", report.mfu);
  if (report.evaluation_loss) {
    scalars.emplace_back("eval/loss", *report.evaluation_loss);
  }
  tensorboard_->add_scalars(report.step, seconds_since_1970(), scalars);
}

// Checked before the first step instead of after days of training.
void RunWriter::check_space() const {
  if (setup().is_emulated()) return;
  std::error_code error;
  const auto space = std::filesystem::space(directory().path(), error);
  if (error) return;
  const auto free = static_cast<double>(space.available);
  const auto weights =
      static_cast<double>(parameter_count(setup().model)) * sizeof(float);
  const bool saves = setup().config.run.save_every > 0;
  const double checkpoint =
      saves ? static_cast<double>(checkpoint_bytes(setup())) : 0;
  // The older checkpoints still exist while the last one is written.
  const int keep = setup().config.run.keep;
  if (free >= weights + checkpoint * (keep + 1)) return;
  std::string text =
      fmt::format("{} has {:.4g} MB free, and the weights take {:.4g} MB",
                  directory().path(), free / 1e6, weights / 1e6);
  if (saves) {
    text += fmt::format(", each checkpoint {:.4g} MB", checkpoint / 1e6);
  }
  if (free < weights + checkpoint) throw IoError(text);
  warn(
      fmt::format("{}, {} of them at a time with run.keep = {}: saving will "
                  "fail once it is "
                  "full",
                  text, keep + 1, keep));
}

template <typename Write>
void RunWriter::try_to(const Write& write) {
  try {
    write();
  } catch (const IoError& error) {
    if (!has_unwritten_) {
      warn(std::string(error.what()) + "; training goes on");
    }
    has_unwritten_ = true;
  }
}

void RunWriter::on_step(const StepReport& report) {
  StepReport complete = report;
  const RunStart& start = options_.start;
  if (start.peak_flops > 0 && report.step_s > 0) {
    complete.mfu = start.flops_per_step / report.step_s / start.peak_flops;
  }
  if (complete.mfu > 1 && !has_explained_mfu_) {
    has_explained_mfu_ = true;
    warn(explain_mfu(complete.mfu));
  }
  options_.observer.on_step(complete);
  steps_ = report.step;
  try_to([&] { write_metrics(complete); });
  try_to([&] { write_tensorboard(complete); });
}

// Also writes state.json about once a second.
void RunWriter::write_metrics(const StepReport& report) {
  directory().add_metrics(report);
  // Once a rank is lost, the exit report writes state.json.
  if (lost_rank() >= 0 || Clock::now() < next_state_) return;
  // A process that was stopped for long may have been given up by the others
  // meanwhile.
  if (directory().was_ended()) {
    throw CommError("the other ranks have ended this run without this one");
  }
  directory().write_state("running", report.step, 0);
  next_state_ = Clock::now() + std::chrono::seconds(1);
}

void RunWriter::on_replan(const Replanned& replanned) {
  try_to([&] {
    write_file(directory().file("replanned.sched"),
               to_sched(replanned.lowered));
  });
  note("replan",
       fmt::format("{}: {:.4g} s a step become {:.4g}, simulated",
                   replanned.is_repeated ? "went over to schedule.file"
                                         : "planned again",
                   replanned.before_s, replanned.after_s));
  options_.observer.on_replan(replanned);
}

void RunWriter::on_save(const SaveResult& save) {
  if (options_.directory != nullptr) {
    const bool is_saved = !save.path.empty();
    try_to([&] {
      directory().add_event(
          save.step, is_saved ? "save" : "warning",
          is_saved ? fmt::format("checkpoint in {:.2f} s", save.total_s)
                   : "no checkpoint: " + save.error);
    });
    if (!save.warning.empty()) note("warning", save.warning);
  }
  options_.observer.on_save(save);
}

void RunWriter::on_late(const LatePart& part) {
  options_.observer.say(
      fmt::format("still waiting for rank {} to write its part of the "
                  "checkpoint of step {}\n",
                  part.rank, part.step));
}

void RunWriter::on_unwritten(const UnwrittenPart& part) {
  if (part.rank == 0) return;  // on_save reports it
  warn(fmt::format("rank {} cannot write its part of step {}: {}", part.rank,
                   part.step, part.reason));
}

void RunWriter::on_recovered(const Recovered& recovered) {
  if (options_.survivors != nullptr) {
    return options_.survivors->finish(recovered);
  }
  const std::string text = fmt::format(
      "worker {} failed: {}; going on after step {} with what the others have",
      recovered.rank, recovered.reason, recovered.step);
  options_.observer.say("warning: " + text + "\n");
  note("fault", text);
}

int RunWriter::lost_rank() {
  return options_.survivors == nullptr ? -1 : options_.survivors->lost();
}

// Retries, then falls back to another disk: the weights of a whole run are at
// stake.
bool RunWriter::take_weights(const TrainOutcome& outcome,
                             WeightReader& weights) {
  // A saved run will be resumed, so its weights are not needed now.
  if (code_of(outcome, setup()) == kExitSaved) return true;
  if (write_weights_here(weights)) return true;
  has_unwritten_ = true;
  write_weights_elsewhere(weights);
  return true;
}

bool RunWriter::write_weights_here(WeightReader& weights) const {
  constexpr int kAttempts = 3;
  constexpr auto kPause = std::chrono::seconds(2);
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    try {
      directory().write_weights(setup().hf_shape, weights);
      say_where(directory().file("weights"));
      return true;
    } catch (const IoError& error) {
      options_.observer.say(fmt::format("error: {} (attempt {} of {})\n",
                                        error.what(), attempt, kAttempts));
      if (attempt < kAttempts) std::this_thread::sleep_for(kPause);
    }
  }
  return false;
}

void RunWriter::write_weights_elsewhere(WeightReader& weights) const {
  try {
    const std::string folder = fallback_directory(directory().path());
    write_weights(folder, setup().hf_shape, weights);
    say_where(folder);
  } catch (const std::exception& error) {
    options_.observer.say(
        fmt::format("error: {}: the weights are lost\n", error.what()));
  }
}

void RunWriter::say_where(const std::string& weights) const {
  const std::filesystem::path path = weights + "/model.safetensors";
  options_.observer.say(
      fmt::format("weights: {}\n", std::filesystem::absolute(path).string()));
}

void RunWriter::write_trace(const TrainOutcome& outcome) const {
  const std::string path = directory().file("trace.json");
  std::ofstream out(path, std::ios::binary);
  write_chrome_trace(outcome.trace, 1e6, out);
  if (!out.flush()) throw IoError("cannot write " + path);
  write_file(directory().file("timeline.svg"),
             draw_last_step(outcome, shared_cores(options_.start)));
}

// memory.json holds the peak tensor bytes of each rank and, for rank 0's
// process, the bytes that belong to no rank and the peak resident bytes.
void RunWriter::write_memory(const TrainOutcome& outcome) const {
  std::vector<std::string> peaks;
  double most = 0;
  for (const double peak : outcome.peak_bytes) {
    peaks.push_back(fmt::format("{:.0f}", peak));
    most = std::max(most, peak);
  }
  write_file(directory().file("memory.json"),
             fmt::format("{{\"peak_bytes\":[{}],\"unclaimed_bytes\":{},"
                         "\"resident_bytes\":{:.0f}}}\n",
                         join(peaks, ","), unclaimed_memory().peak_bytes(),
                         resident_bytes()));
  options_.observer.say(fmt::format(
      "memory: at most {:.1f} MB of tensors on a worker (memory.json)\n",
      most / 1e6));
}

ExitCode RunWriter::finish(const TrainOutcome& outcome) {
  ExitCode code = code_of(outcome, setup());
  if (options_.directory == nullptr) return code;
  if (setup().config.run.trace) write_trace(outcome);
  if (!setup().is_emulated()) write_memory(outcome);
  if (outcome.bad) {
    note("fault", bad_text(*outcome.bad));
    options_.observer.say(
        "error: " + bad_text(*outcome.bad) +
        "; the weights are not kept (lower train.lr, set train.clip, or "
        "train.on_nan = \"skip\")\n");
  }
  if (code == kExitDone && has_unwritten_) code = kExitDisk;
  directory().write_state(state_of(code), outcome.steps, code);
  say_how_to_go_on(outcome, code);
  return code;
}

void RunWriter::say_how_to_go_on(const TrainOutcome& outcome,
                                 ExitCode code) const {
  if (code != kExitInterrupted && code != kExitSaved) return;
  std::string text =
      fmt::format("ended {} after step {} of {}",
                  code == kExitSaved ? "by a signal" : "by Ctrl-C",
                  outcome.steps, *setup().config.train.steps);
  const std::string resume =
      "chimera train -c " + directory().file("config.toml") + " --resume";
  if (outcome.saved) {
    text +=
        fmt::format("; to go on after step {}: {}\n", *outcome.saved, resume);
  } else {
    text +=
        "; there is no checkpoint to go on from (run.save_every, or kill "
        "-TERM instead of Ctrl-C, saves one)\n";
  }
  options_.observer.say(text);
}

// Ignores write errors: the failure itself matters more.
void RunWriter::fail(ExitCode code, const std::string& reason) {
  note("fault", reason);
  try {
    directory().write_state("failed", steps_, code);
  } catch (const std::exception&) {
    options_.observer.say("error: cannot write " +
                          directory().file("state.json") + "\n");
  }
}

}  // namespace chimera
