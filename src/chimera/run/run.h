// The life of a run, from its configuration to its end: admission of all ranks,
// the run directory (config.toml, metrics.jsonl, state.json, checkpoints/,
// weights/), resuming, signals, and the save by the survivors when a rank is
// lost. Ranks are threads of this process or, under mpirun or srun, processes
// of which this is one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "chimera/base/exit_codes.h"
#include "chimera/base/result.h"
#include "chimera/config/run_config.h"
#include "chimera/train/observer.h"
#include "chimera/train/setup.h"

namespace chimera {

// What is known of a run before its first step.
struct RunStart {
  const RunSetup& setup;
  std::string ranks;    // kind of ranks: "threads", "MPI ranks on 2 hosts ..."
  std::string run_dir;  // rank 0's
  std::string resumed;  // where the run resumes, in words; empty if it is new
  std::vector<std::string> hosts = {};  // [rank]; empty: all on this one
  std::string version = {};             // of the program
  // Floating-point operations of one step, and of all cores in a second; 0 if
  // not known.
  double flops_per_step = 0;
  double peak_flops = 0;
};

struct RunEnd {
  ExitCode code = kExitDone;
  int steps = 0;        // done
  std::string run_dir;  // empty if the run did not get that far
};

// Follows a run. Functions do nothing unless a derived class says otherwise.
// All but say() are called in the process of rank 0 only, on its own thread.
class RunObserver {
 public:
  RunObserver() = default;
  RunObserver(const RunObserver&) = delete;
  RunObserver& operator=(const RunObserver&) = delete;
  virtual ~RunObserver() = default;

  virtual void on_start(const RunStart& /*start*/) {}
  virtual void on_step(const StepReport& /*report*/) {}
  virtual void on_save(const SaveResult& /*save*/) {}
  virtual void on_replan(const Replanned& /*replanned*/) {}
  // Called once everything is written, before the process ends.
  virtual void on_end(const RunEnd& /*end*/) {}
  // One or more whole lines for the user; those that matter begin with "note:",
  // "warning:" or "error". On any thread of any rank, also while the process is
  // about to end.
  virtual void say(const std::string& /*lines*/) {}
  // Called on any thread when the process is about to end without destructors,
  // because a peer is lost. Must write out what was said, quickly.
  virtual void before_exit() {}
};

struct RunOptions {
  // Resume from the newest checkpoint of config.run.dir.
  bool resume = false;
  // Version of the program, which all ranks must share.
  std::string version = "library";
  // Makes user-defined layers in place of [model] and [data]. Called once per
  // process.
  std::function<OwnModel()> own_model = {};
};

// Trains as `config` says, or reports why not. `config` may hold mistakes
// instead of a configuration, so that under a launcher all ranks learn of them.
// Under a launcher every process calls this; it returns the same code on every
// rank, and ends the process if a peer is lost. An empty config.run.dir becomes
// runs/<time>. E402 resume without config.run.dir; E571 a launcher or number of
// ranks that does not fit; E573 a build without MPI.
[[nodiscard]] RunEnd run(const Result<RunConfig>& config,
                         const RunOptions& options, RunObserver& observer);

// Describes the run in a few lines: "chimera: 4 workers as threads, 2 pipes,
// ...", then the model and the data.
[[nodiscard]] std::string describe(const RunStart& start);

// Floating-point operations of one step, forward and backward; 0 if emulated.
[[nodiscard]] double flops_per_step(const RunSetup& setup);

// Reports diagnostics to the observer. Returns the exit code for their kind.
ExitCode say_errors(const Diagnostics& errors, RunObserver& observer);

}  // namespace chimera
