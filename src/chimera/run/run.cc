#include "chimera/run/run.h"

#include <fmt/format.h>

#include <ctime>
#include <optional>

#include "chimera/exec/program.h"
#include "chimera/run/cores.h"
#include "chimera/run/failure.h"
#include "chimera/run/flights.h"
#include "chimera/run/host_memory.h"
#include "chimera/run/launcher.h"
#include "chimera/run/memory_check.h"
#include "chimera/run/ranks.h"
#include "chimera/run/resume_point.h"
#include "chimera/run/run_writer.h"
#include "chimera/run/setup_here.h"
#include "chimera/run/signals.h"

namespace chimera {
namespace {

// "runs/20261116-021500".
std::string fresh_directory() {
  const std::time_t now = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", std::localtime(&now));
  return std::string("runs/") + text;
}

Result<RunConfig> with_directory(const Result<RunConfig>& config, bool resume) {
  if (!config || !config->run.dir.empty()) return config;
  if (resume) {
    return Diagnostic{.code = "E402",
                      .found = "--run-dir",
                      .needed = "is missing: which run is to go on?",
                      .hint = "or set run.dir"};
  }
  RunConfig complete = *config;
  complete.run.dir = fresh_directory();
  return complete;
}

// Trains with ranks as threads, and turns any failure into an exit code.
ExitCode train_here(RunWriter& writer, const RunSetup& setup, Flights& flights,
                    RunObserver& observer) {
  try {
    writer.start();
    return writer.finish(train(setup, writer));
  } catch (const std::exception&) {
    const Failure failure = current_failure();
    observer.say("error: " + failure.text + "\n");
    flights.write(setup.config.run.dir, {}, failure.text);
    writer.fail(failure.code(), failure.text);
    return failure.code();
  }
}

// A run with all ranks as threads of this process.
RunEnd run_here(const RunConfig& config, const RunOptions& options,
                RunObserver& observer) {
  Signals signals;  // must precede all other threads
  std::optional<ResumePoint> point;
  if (options.resume) {
    const Result<ResumePoint> found = find_resume_point(config.run.dir);
    if (!found) return {say_errors(found.errors(), observer)};
    point = *found;
  }
  // Everything is read and checked before anything of the run is written.
  const Result<std::unique_ptr<RunSetup>> made =
      set_up_here(config, {.checkpoint = point ? point->checkpoint : "",
                           .own_model = options.own_model});
  if (!made) return {say_errors(made.errors(), observer)};
  const RunSetup& setup = **made;
  Flights flights(0, num_ranks(setup.schedule));
  const std::string& path = config.run.dir;
  signals.handle({.on_quit = [&] { flights.write(path, {}, "SIGQUIT"); },
                  .say = [&](const std::string& text) { observer.say(text); }});
  Result<RunDirectory> opened =
      open_run_directory(path, setup, point ? &*point : nullptr, observer);
  if (!opened) return {say_errors(opened.errors(), observer)};
  RunDirectory directory = std::move(opened).value();
  const RunStart start = {
      .setup = setup,
      .ranks = "threads",
      .run_dir = path,
      .resumed = point ? resume_text(*point, setup) : "",
      .version = options.version,
      .flops_per_step = flops_per_step(setup),
      .peak_flops = setup.is_emulated()
                        ? 0
                        : measure_peak_flops(setup.config.train.precision)};
  observer.on_start(start);
  observer.say(memory_warning(setup, free_memory()));
  RunWriter writer({.start = start,
                    .directory = &directory,
                    .flights = flights,
                    .signals = signals,
                    .observer = observer});
  const ExitCode code = train_here(writer, setup, flights, observer);
  RunEnd end{.code = code, .steps = writer.steps(), .run_dir = path};
  observer.on_end(end);
  return end;
}

}  // namespace

RunEnd run(const Result<RunConfig>& config, const RunOptions& options,
           RunObserver& observer) {
  const Result<RunConfig> complete = with_directory(config, options.resume);
  const Launcher launcher = find_launcher();
  const Result<bool> is_rank = is_mpi_rank(
      complete ? complete->run.transport : TransportKind::kAuto, launcher);
  if (!is_rank) return {say_errors(is_rank.errors(), observer)};
  // Rank 0 reports every rank's mistakes, and all ranks end alike.
  if (*is_rank) return run_as_rank(complete, options, launcher, observer);
  if (!complete) return {say_errors(complete.errors(), observer)};
  return run_here(*complete, options, observer);
}

double flops_per_step(const RunSetup& setup) {
  if (setup.is_emulated() || setup.has_own_model()) return 0;
  double flops = 0;
  for (const double of_layer : forward_flops(setup.model)) flops += of_layer;
  return 3 * flops * static_cast<double>(setup.global_batch());
}

std::string describe(const RunStart& start) {
  const RunSetup& setup = start.setup;
  const Schedule& schedule = setup.schedule;
  std::string text;
  for (const std::string& notice : setup.notices) {
    text += "note: " + notice + "\n";
  }
  const auto count = [](int number, const char* what) {
    return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
  };
  text += schedule.scheme + ": " + count(schedule.workers(), "worker");
  if (schedule.width > 1) text += fmt::format(" x {} copies", schedule.width);
  text += fmt::format(
      " as {}, {}, {}, {} of {}", start.ranks, count(schedule.pipes(), "pipe"),
      count(schedule.stages(), "stage"),
      schedule.micros == 1 ? "1 micro-batch"
                           : fmt::format("{} micro-batches", schedule.micros),
      *setup.config.schedule.micro_batch);
  if (setup.is_emulated()) {
    text += ", emulated\n";
  } else if (setup.has_own_model()) {
    text += fmt::format("\nuser-defined layers: {}, {} parameters, cut at {}\n",
                        setup.model.layers.size(), parameter_count(setup.model),
                        fmt::join(setup.cut, " "));
  } else {
    text += fmt::format(
        "\n{}: {} layers with embeddings and head, {} parameters, cut at {}\n"
        "data: {}, {} samples of {} tokens\n",
        name_of(setup.model.details.shape.kind), setup.model.layers.size(),
        parameter_count(setup.model), fmt::join(setup.cut, " "),
        fmt::join(setup.config.data.path, " "), setup.data->num_samples(),
        setup.model.details.shape.seq);
  }
  return text + "run directory: " + start.run_dir + "\n" + start.resumed;
}

ExitCode say_errors(const Diagnostics& errors, RunObserver& observer) {
  for (const Diagnostic& error : errors) {
    observer.say(to_string(error) + "\n");
  }
  return exit_code_of(errors);
}

}  // namespace chimera
