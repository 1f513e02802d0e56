#include "chimera/cli/run/training.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>

#include "chimera/base/files.h"
#include "chimera/base/text.h"
#include "chimera/cli/run/failure.h"
#include "chimera/cli/run/step_line.h"
#include "chimera/comm/comm_error.h"
#include "chimera/console/exit_codes.h"
#include "chimera/model/memory_meter.h"
#include "chimera/report/svg.h"
#include "chimera/schedule/forms.h"
#include "chimera/simulate/simulate.h"
#include "chimera/trace/chrome.h"
#include "chimera/trace/measure.h"
#include "chimera/train/peak_flops.h"

namespace chimera {
namespace {

StepLineOptions step_line_options(const RunSetup& setup, int hosts) {
  StepLineOptions options{.steps = *setup.config.train.steps,
                          .log_every = setup.config.run.log_every};
  if (setup.is_emulated()) return options;
  for (const double flops : forward_flops(setup.model)) {
    options.flops_per_step +=
        3 * flops * static_cast<double>(setup.global_batch());
  }
  options.peak_flops = hosts * measure_peak_flops();
  return options;
}

// One step as planned, on the measured times of its actions, and as it ran.
std::string draw_step(const TrainOutcome& outcome) {
  const Schedule& schedule = outcome.schedule;
  const Costs costs = measured_costs(schedule, outcome.trace);
  const Trace plan = simulate(schedule, costs).trace;
  const int workers = schedule.workers();
  const Trace run = one_step(outcome.trace, outcome.steps - 1, workers);
  std::vector<std::string> names;
  for (const char* which : {"plan", "run"}) {
    for (int worker = 0; worker < workers; ++worker) {
      names.push_back(fmt::format("{} P{}", which, worker));
    }
  }
  return draw_svg(side_by_side(plan, run),
                  {.title = fmt::format("{}, step {}: as planned and as run",
                                        schedule.scheme, outcome.steps),
                   .time_label = "time (s)",
                   .row_names = names});
}

void write_trace(const RunDirectory& directory, const TrainOutcome& outcome) {
  std::ofstream out(directory.file("trace.json"), std::ios::binary);
  write_chrome_trace(outcome.trace, 1e6, out);
  if (!out.flush()) {
    throw IoError("cannot write " + directory.file("trace.json"));
  }
  write_file(directory.file("timeline.svg"), draw_step(outcome));
}

std::string bad_text(const BadStep& bad) {
  std::string text = fmt::format("step {}: ", bad.step);
  if (!bad.place) return text + "gradient or weights are not numbers";
  return text + fmt::format("stage {}, micro-batch {}: not a number",
                            bad.place->stage, bad.place->micro);
}

// How it went; whether it could be written rank 0 knows.
int code_of(const TrainOutcome& outcome, const RunSetup& setup) {
  if (outcome.bad) return kExitNumeric;
  const bool cut_short =
      outcome.interrupted && outcome.steps < *setup.config.train.steps;
  if (cut_short && outcome.wants_save) {
    return outcome.saved == outcome.steps ? kExitSaved : kExitDisk;
  }
  if (outcome.has_unsaved) return kExitDisk;
  return cut_short ? kExitInterrupted : kExitDone;
}

// Of this process, with everything that is not a tensor.
double resident_bytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return 1024.0 * static_cast<double>(usage.ru_maxrss);
}

// memory.json: the most that the tensors of each rank took; apart from these,
// in rank 0's process, what belonged to no rank and all that was resident.
void write_memory(const RunDirectory& directory, const TrainOutcome& outcome) {
  std::vector<std::string> peaks;
  double most = 0;
  for (const double peak : outcome.peak_bytes) {
    peaks.push_back(fmt::format("{:.0f}", peak));
    most = std::max(most, peak);
  }
  write_file(directory.file("memory.json"),
             fmt::format("{{\"peak_bytes\":[{}],\"unclaimed_bytes\":{},"
                         "\"resident_bytes\":{:.0f}}}\n",
                         join(peaks, ","), unclaimed_memory().peak_bytes(),
                         resident_bytes()));
  std::cerr << fmt::format(
      "memory: at most {:.1f} MB of tensors on a worker (memory.json)\n",
      most / 1e6);
}

// A directory on another disk than the run's, for weights that do not fit
// there.
std::string fallback_directory(const RunDirectory& directory) {
  namespace fs = std::filesystem;
  const std::string name =
      fs::absolute(directory.path()).lexically_normal().filename().string();
  return (fs::temp_directory_path() /
          fmt::format("chimera-{}-{}", name, getpid()))
      .string();
}

// The weights of a whole run are at stake: a disk that is full may have room in
// a moment, and another one may have it now. Returns the exit code.
int write_weights_somewhere(const RunDirectory& directory, const HfShape& shape,
                            WeightReader& weights) {
  constexpr int kAttempts = 3;
  constexpr auto kPause = std::chrono::seconds(2);
  const auto say_where = [](const std::string& folder) {
    const std::filesystem::path path = folder + "/model.safetensors";
    std::cerr << fmt::format("weights: {}\n",
                             std::filesystem::absolute(path).string());
  };
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    try {
      directory.write_weights(shape, weights);
      say_where(directory.file("weights"));
      return kExitDone;
    } catch (const IoError& error) {
      std::cerr << fmt::format("error: {} (attempt {} of {})\n", error.what(),
                               attempt, kAttempts);
      if (attempt < kAttempts) std::this_thread::sleep_for(kPause);
    }
  }
  try {
    const std::string folder = fallback_directory(directory);
    write_weights(folder, shape, weights);
    say_where(folder);
  } catch (const std::exception& error) {
    std::cerr << fmt::format("error: {}: the weights are lost\n", error.what());
  }
  return kExitDisk;
}

// Exit code once the workers have ended.
int finish(const RunDirectory& directory, const RunSetup& setup,
           const TrainOutcome& outcome) {
  if (setup.config.run.trace) write_trace(directory, outcome);
  if (!setup.is_emulated()) write_memory(directory, outcome);
  if (outcome.bad) {
    std::cerr << "error: " << bad_text(*outcome.bad)
              << "; the weights are not kept (lower train.lr, set train.clip, "
                 "or train.on_nan = \"skip\")\n";
  }
  return code_of(outcome, setup);
}

// What is told of each step. state.json follows about once a second.
class Teller {
 public:
  Teller(RunDirectory& directory, const TrainingContext& context)
      : directory_(directory),
        line_(step_line_options(context.setup, context.hosts)) {}

  void tell(const StepReport& report) {
    line_.show(report);
    try_to([&] { note(report); });
  }
  // Not all of the metrics, or not the new order, could be written.
  [[nodiscard]] bool has_failed() const { return has_failed_; }

  void tell(const SaveResult& save) {
    if (save.path.empty()) {
      line_.print(fmt::format(
          "warning: no checkpoint of step {}: {}; training goes on, and "
          "earlier checkpoints are kept",
          save.step, save.error));
      return;
    }
    line_.print(
        fmt::format("saved {} in {:.2f} s, of which training waited "
                    "{:.3f} s",
                    save.path, save.total_s, save.stall_s));
    if (!save.warning.empty()) line_.print("warning: " + save.warning);
  }

  void tell(const LatePart& part) {
    line_.print(
        fmt::format("still waiting for rank {} to write its part of "
                    "the checkpoint of step {}",
                    part.rank, part.step));
  }

  void tell(const Recovered& recovered) {
    line_.print(fmt::format(
        "warning: worker {} failed: {}; going on after step {} with what the "
        "others have",
        recovered.rank, recovered.reason, recovered.step));
  }

  void tell(const Replanned& replanned) {
    try_to([&] {
      write_file(directory_.file("replanned.sched"),
                 to_sched(replanned.lowered));
    });
    std::cerr << fmt::format(
        "{} after step {}: with the measured times a step takes {:.4g} s in "
        "the old order, {:.4g} s in the new one (simulated); replanned.sched\n",
        replanned.is_repeated ? "went over to schedule.file" : "planned again",
        replanned.step, replanned.before_s, replanned.after_s);
  }

 private:
  // A full disk does not end a run: the next line may fit again.
  template <typename Write>
  void try_to(const Write& write) {
    try {
      write();
    } catch (const IoError& error) {
      if (!has_failed_) {
        line_.print(fmt::format("warning: {}; training goes on", error.what()));
      }
      has_failed_ = true;
    }
  }

  void note(const StepReport& report) {
    directory_.add_metrics(report);
    if (Clock::now() < next_state_) return;
    if (directory_.was_ended()) {
      throw CommError("the other ranks have ended this run without this one");
    }
    directory_.write_state("running", report.step, 0);
    next_state_ = Clock::now() + std::chrono::seconds(1);
  }

  bool has_failed_ = false;
  RunDirectory& directory_;
  StepLine line_;
  Clock::time_point next_state_ = Clock::now();
};

const char* state_of(int exit_code) {
  if (exit_code == kExitSaved) return "saved";
  const bool done = exit_code == kExitDone || exit_code == kExitInterrupted;
  return done ? "done" : "failed";
}

// In one piece: other ranks may write at the same time.
std::string unwritten_text(const Unwritten& part) {
  return fmt::format("warning: rank {} cannot write its part of step {}: {}\n",
                     part.rank, part.step, part.reason);
}

// Before the first step, not after days.
void check_space(const RunSetup& setup, const RunDirectory& directory) {
  if (setup.is_emulated()) return;
  std::error_code error;
  const auto space = std::filesystem::space(directory.path(), error);
  if (error) return;
  const auto free = static_cast<double>(space.available);
  const auto weights =
      static_cast<double>(parameter_count(setup.model)) * sizeof(float);
  const bool saves = setup.config.run.save_every > 0;
  const double checkpoint =
      saves ? static_cast<double>(checkpoint_bytes(setup)) : 0;
  // While the last checkpoint is written the others are still there.
  const double most = weights + checkpoint * (setup.config.run.keep + 1);
  if (free >= most) return;
  std::string text =
      fmt::format("{} has {:.4g} MB free, and the weights take {:.4g} MB",
                  directory.path(), free / 1e6, weights / 1e6);
  if (saves) {
    text += fmt::format(", each checkpoint {:.4g} MB", checkpoint / 1e6);
  }
  if (free < weights + checkpoint) throw IoError(text);
  std::cerr << fmt::format(
      "warning: {}, {} of them at a time with run.keep = {}: saving will fail "
      "once it is full\n",
      text, setup.config.run.keep + 1, setup.config.run.keep);
}

// What went wrong counts more than that it cannot be written, either.
void leave_state(const RunDirectory& directory, int step, int exit_code) {
  try {
    directory.write_state("failed", step, exit_code);
  } catch (const std::exception&) {
    std::cerr << "error: cannot write " << directory.file("state.json") << '\n';
  }
}

}  // namespace

std::string layout_text(const RunSetup& setup, const std::string& workers_are) {
  const Schedule& schedule = setup.schedule;
  std::string text =
      fmt::format("{}: {} workers", schedule.scheme, schedule.workers());
  if (schedule.width > 1) text += fmt::format(" x {} copies", schedule.width);
  text += fmt::format(" as {}, {} pipes, {} stages, {} micro-batches of {}",
                      workers_are, schedule.pipes(), schedule.stages(),
                      schedule.micros, *setup.config.schedule.micro_batch);
  if (setup.is_emulated()) return text + ", emulated\n";
  text += fmt::format("\n{}: {} layers, {} parameters, cut at",
                      name_of(setup.model.details.shape.kind),
                      setup.model.layers.size(), parameter_count(setup.model));
  for (const int layer : setup.cut) text += fmt::format(" {}", layer);
  return text + fmt::format("\ndata: {}, {} samples of {} tokens\n",
                            setup.config.data.path, setup.data->num_samples(),
                            setup.model.details.shape.seq);
}

bool ends_well(int exit_code) {
  return exit_code == kExitDone || exit_code == kExitInterrupted ||
         exit_code == kExitSaved;
}

int run_training(const TrainingContext& context) {
  const RunSetup& setup = context.setup;
  RunDirectory* directory = context.directory;
  int step = 0;
  try {
    std::optional<Teller> teller;
    int weights_code = kExitDone;
    if (directory != nullptr) {
      write_file(directory->file("schedule.sched"), to_sched(setup.schedule));
      check_space(setup, *directory);
      teller.emplace(*directory, context);
    }
    const TrainOutcome outcome = train(
        setup,
        {.on_step =
             [&](const StepReport& report) {
               teller->tell(report);
               step = report.step;
             },
         .on_replan =
             [&](const Replanned& replanned) { teller->tell(replanned); },
         .wish = [&] { return context.signals.wish(); },
         .saves =
             {.on_save = [&](const SaveResult& save) { teller->tell(save); },
              .on_unwritten =
                  [&](const Unwritten& part) {
                    if (part.rank == 0) return;  // on_save says it
                    std::cerr << unwritten_text(part);
                  },
              .on_late = [&](const LatePart& part) { teller->tell(part); }},
         .on_recovered =
             [&](const Recovered& recovered) {
               if (context.on_recovered) {
                 return context.on_recovered(recovered);
               }
               teller->tell(recovered);
             },
         .on_weights =
             [&](const TrainOutcome& so_far, WeightReader& weights) {
               // A saved run goes on elsewhere, and its time is short.
               if (code_of(so_far, setup) == kExitSaved) return;
               weights_code =
                   write_weights_somewhere(*directory, setup.hf_shape, weights);
             },
         .flight = [&](int rank) { return context.flights.at(rank); }},
        context.site);
    if (directory == nullptr) return code_of(outcome, setup);
    int exit_code = finish(*directory, setup, outcome);
    const bool is_incomplete =
        teller->has_failed() || weights_code != kExitDone;
    if (exit_code == kExitDone && is_incomplete) exit_code = kExitDisk;
    directory->write_state(state_of(exit_code), outcome.steps, exit_code);
    return exit_code;
  } catch (const std::exception&) {
    if (context.site.own != nullptr) throw;  // other processes must learn of it
    const Failure failure = current_failure();
    std::cerr << "error: " << failure.text << '\n';
    context.flights.write(directory->path(), {}, failure.text);
    leave_state(*directory, step, failure.exit_code);
    return failure.exit_code;
  }
}

}  // namespace chimera
