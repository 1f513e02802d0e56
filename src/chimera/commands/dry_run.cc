#include "chimera/commands/dry_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <numeric>
#include <optional>

#include "chimera/base/exit_codes.h"
#include "chimera/commands/run_config.h"
#include "chimera/console/console.h"
#include "chimera/exec/program.h"
#include "chimera/exec/run_threads.h"
#include "chimera/plan/forecast.h"
#include "chimera/plan/own_layers.h"
#include "chimera/plan/run_schedule.h"
#include "chimera/run/cores.h"
#include "chimera/run/host_memory.h"
#include "chimera/run/launcher.h"
#include "chimera/run/memory_check.h"
#include "chimera/run/resume_point.h"
#include "chimera/run/run.h"
#include "chimera/run/setup_here.h"
#include "chimera/simulate/simulate.h"
#include "chimera/train/calibrate.h"
#include "chimera/train/peak_flops.h"
#include "chimera/train/saving.h"

namespace chimera {
namespace {

// Measures one layer of each kind on this host. Empty if memory does not
// suffice.
std::optional<Profile> measure(const RunSetup& setup) {
  const int threads = setup.threads;
  const int cores = usable_cores();
  const int ranks = std::min(num_ranks(setup.schedule),
                             std::max(1, cores / std::max(1, threads)));
  const int size = *setup.config.schedule.micro_batch;
  const CalibrateOptions options = {.model = setup.model.details,
                                    .train = setup.config.train,
                                    .micro_batches = {size},
                                    .threads = threads,
                                    .cores = cores,
                                    .seconds = 0.2};
  const double needed =
      ranks * LayerBench::bytes_needed({.model = options.model,
                                        .train = options.train,
                                        .micro_batch = size,
                                        .threads = threads});
  if (needed > free_memory()) return std::nullopt;
  std::optional<Profile> profile;
  run_threads({.ranks = ranks, .deadline = std::chrono::minutes(10)},
              [&](Transport& transport) {
                Profile found = calibrate(transport, options);
                if (transport.rank() == 0) profile = std::move(found);
              });
  return profile;
}

// A warning that other programs keep the machine busy; empty if they do not.
std::string load_text() {
  double load = 0;
  const int cores = usable_cores();
  if (getloadavg(&load, 1) != 1 || load < cores) return "";
  return fmt::format(
      "            other programs keep this machine busy (load {:.1f} on {} "
      "cores): alone the step takes less\n",
      load, cores);
}

// Formats seconds with four digits, or as a whole number from 1000 on.
std::string seconds_text(double seconds) {
  return seconds < 1000 ? fmt::format("{:.4g}", seconds)
                        : fmt::format("{:.0f}", seconds);
}

// States the assumption of the prediction, because a plan for a cluster gives
// surprising times on one machine.
std::string site_text(const RunSetup& setup) {
  return fmt::format(
      ",\n            if all {} workers share the {} cores of this machine, at "
      "the speed just measured",
      num_ranks(setup.schedule), usable_cores());
}

// `profile`: the measurement, or nothing if memory did not suffice.
std::string speed_text(const RunSetup& setup,
                       const std::optional<Profile>& profile) {
  Costs costs;
  SimulateOptions options = {.steps = 3};
  if (setup.is_emulated()) {
    costs = emulated_costs(setup.config, setup.schedule);
  } else {
    if (!profile) {
      return "step        not predicted: measuring a layer takes more memory "
             "than is free\n";
    }
    costs = staged_run(setup.config, *profile, setup.schedule).costs;
    options.cores = std::max(1, profile->cores / profile->threads);
    options.contention = profile->contention;
  }
  const Simulation simulation = simulate(setup.schedule, costs, options);
  const double step_s = simulation.period;
  std::string text =
      fmt::format("step        {} s predicted, bubble {:.1f} %{}\n",
                  seconds_text(step_s), 100 * simulation.bubble_ratio,
                  setup.is_emulated() ? "" : site_text(setup));
  if (!setup.is_emulated()) {
    const double tokens = static_cast<double>(setup.global_batch()) *
                          setup.model.details.shape.seq;
    const double peak = measure_peak_flops(setup.config.train.precision);
    const double mfu = flops_per_step(setup) / step_s / peak;
    text += fmt::format("            {:.0f} tokens/s, MFU {:.1f} %\n",
                        tokens / step_s, 100 * mfu);
    if (mfu > 1) text += fmt::format("            {}\n", explain_mfu(mfu));
    text += load_text();
  }
  const int left = *setup.config.train.steps - setup.start.step;
  return text + fmt::format("time        {} for {} steps\n",
                            time_text(step_s * left), left);
}

std::string memory_text(const RunSetup& setup,
                        const std::optional<Profile>& profile) {
  if (setup.is_emulated()) return "";
  const std::vector<double> bytes = run_bytes(
      setup.config, profile ? *profile : own_layers(setup.config.model),
      setup.schedule);
  const auto [least, most] = std::minmax_element(bytes.begin(), bytes.end());
  return fmt::format(
      "memory      {:.2f} to {:.2f} MB of tensors on a worker, {:.2f} GB on "
      "all "
      "{} ranks; {:.1f} GB are free here\n",
      *least / 1e6, *most / 1e6,
      setup.schedule.width * std::accumulate(bytes.begin(), bytes.end(), 0.0) /
          1e9,
      num_ranks(setup.schedule), free_memory() / 1e9);
}

std::string disk_text(const RunSetup& setup) {
  if (setup.is_emulated()) return "";
  namespace fs = std::filesystem;
  const double weights =
      4.0 * static_cast<double>(parameter_count(setup.model));
  const bool saves = setup.config.run.save_every > 0;
  const int copies = saves ? setup.config.run.keep + 1 : 0;
  const auto each = static_cast<double>(checkpoint_bytes(setup));
  std::string text =
      fmt::format("disk        {:.1f} MB: weights {:.1f}",
                  (weights + copies * each) / 1e6, weights / 1e6);
  if (saves) {
    text += fmt::format(", {} checkpoints of {:.1f}", copies, each / 1e6);
  }
  const std::string& run_dir = setup.config.run.dir;
  fs::path there = fs::absolute(run_dir.empty() ? "runs" : run_dir);
  std::error_code error;
  while (!fs::exists(there, error) && there.has_relative_path()) {
    there = there.parent_path();
  }
  const fs::space_info space = fs::space(there, error);
  if (!error) {
    text += fmt::format("; {:.1f} GB are free there",
                        static_cast<double>(space.available) / 1e9);
  }
  return text + "\n";
}

std::string forecast(const RunSetup& setup, const std::string& resumed) {
  const std::string& run_dir = setup.config.run.dir;
  const std::optional<Profile> profile =
      setup.is_emulated() ? std::nullopt : measure(setup);
  return describe({.setup = setup,
                   .ranks = setup.config.run.transport == TransportKind::kMpi
                                ? "MPI ranks"
                                : "threads",
                   .run_dir = run_dir.empty() ? "runs/<time>" : run_dir,
                   .resumed = resumed}) +
         speed_text(setup, profile) + memory_text(setup, profile) +
         disk_text(setup);
}

}  // namespace

int dry_run(const Result<RunConfig>& config, bool resume) {
  const Diagnostics several = check_single("train --dry-run", find_launcher());
  if (!several.empty()) return print_errors(several);
  if (!config) return print_run_errors(config.errors());
  const std::string& run_dir = config->run.dir;
  Diagnostics errors;
  std::optional<ResumePoint> point;
  if (resume) {
    const Result<ResumePoint> found = find_resume_point(run_dir);
    if (!found) return print_run_errors(found.errors());
    point = *found;
  } else if (!run_dir.empty()) {
    errors = check_run_directory(run_dir);
  }
  const Result<std::unique_ptr<RunSetup>> setup =
      set_up_here(*config, {.checkpoint = point ? point->checkpoint : ""});
  if (!setup) {
    errors.insert(errors.begin(), setup.errors().begin(), setup.errors().end());
  }
  if (!errors.empty()) return print_run_errors(errors);
  write_result(forecast(**setup, point ? resume_text(*point, **setup) : ""),
               "");
  const std::string warning = memory_warning(**setup, free_memory());
  std::cerr << warning << "dry run: "
            << (warning.empty() ? "all is well, and nothing was written\n"
                                : "nothing was written\n");
  return kExitDone;
}

}  // namespace chimera
