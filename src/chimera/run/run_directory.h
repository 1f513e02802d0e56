// What a run leaves behind:
//   config.toml     the resolved configuration
//   metrics.jsonl   one object a step, flushed as it goes
//   state.json      {"state":"running|done|saved|failed","step":12,"exit":0}
//   checkpoints/    with run.save_every, or when it was told to save
//   trace.json      with run.trace: open it in ui.perfetto.dev
//   weights/        at the end: a Hugging Face directory
//   .lock           see run_directory_lock.h
#pragma once

#include <string>

#include "chimera/base/exit_codes.h"
#include "chimera/base/files.h"
#include "chimera/base/result.h"
#include "chimera/run/run_directory_lock.h"
#include "chimera/train/observer.h"
#include "chimera/train/setup.h"

namespace chimera {

struct RunState {
  std::string state;  // running, done, saved, failed
  int step = 0;
  int exit_code = 0;
};

// The state of a run that ends with this code.
[[nodiscard]] const char* state_of(ExitCode code);

// E566 if `path` holds a run already, or E576 if it could not be made or
// written to; makes nothing.
[[nodiscard]] Diagnostics check_run_directory(const std::string& path);

// state.json of the run directory `path`. Throws IoError.
void write_state(const std::string& path, const RunState& state);

// Writes `weights` into the directory `path`, which must not be there or be
// empty, one tensor at a time. Throws IoError.
void write_weights(const std::string& path, const HfShape& shape,
                   WeightReader& weights);

// Locked as long as this lives.
class RunDirectory {
 public:
  // Makes it. E566 if `path` holds a run already: nothing is overwritten. E575
  // if one is just beginning there. Throws IoError.
  [[nodiscard]] static Result<RunDirectory> create(const std::string& path,
                                                   const RunConfig& config);

  // Goes on in the directory that is locked: metrics of later steps than
  // `steps_done` are dropped, as they will come again. Throws IoError.
  [[nodiscard]] static RunDirectory resume(RunDirectoryLockPtr lock,
                                           const RunConfig& config,
                                           int steps_done);

  [[nodiscard]] const std::string& path() const { return lock_->path(); }
  [[nodiscard]] std::string file(const std::string& name) const {
    return path() + "/" + name;
  }

  // Throw IoError.
  void add_metrics(const StepReport& report);
  // A line of events.jsonl. `kind` is save, resume, replan, warning or fault.
  // May be called on any thread.
  void add_event(int step, const std::string& kind,
                 const std::string& text) const;
  void write_state(const std::string& state, int step, int exit_code) const {
    chimera::write_state(path(), {state, step, exit_code});
  }
  // Whether another rank has said in state.json that the run has failed: it
  // thought that this process was dead. (Code 130 is this process's own
  // warning: see ExitReport::warn.)
  [[nodiscard]] bool was_ended() const;
  // weights/ as a Hugging Face directory of this shape, in place of an older
  // one, which stays until the new one is safe on the disk.
  void write_weights(const HfShape& shape, WeightReader& weights) const;

 private:
  explicit RunDirectory(RunDirectoryLockPtr lock)
      : lock_(std::move(lock)), metrics_(file("metrics.jsonl")) {}

  RunDirectoryLockPtr lock_;
  AppendFile metrics_;
};

}  // namespace chimera
