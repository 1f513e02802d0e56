// The files of a run:
//   config.toml     the resolved configuration
//   metrics.jsonl   one object per step, flushed each time
//   state.json      {"state":"running|done|saved|failed","step":12,"exit":0}
//   checkpoints/    with run.save_every, or if asked to save
//   trace.json      with run.trace, for ui.perfetto.dev
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

// The state.json word for a run that ends with this code.
[[nodiscard]] const char* state_of(ExitCode code);

// E566 if `path` holds a run already, or E576 if it could not be made or
// written to; makes nothing.
[[nodiscard]] Diagnostics check_run_directory(const std::string& path);

// Writes state.json into the run directory `path`. Throws IoError.
void write_state(const std::string& path, const RunState& state);

// Appends a line to events.jsonl in the run directory `path`. `kind` is save,
// resume, replan, warning or fault. May be called on any thread. Throws
// IoError.
void add_event(const std::string& path, int step, const std::string& kind,
               const std::string& text);

// Writes `weights`, one tensor at a time, into the directory `path`. REQUIRES:
// `path` is missing or empty. Throws IoError.
void write_weights(const std::string& path, const HfShape& shape,
                   WeightReader& weights);

// A run directory, locked during the object's lifetime.
class RunDirectory {
 public:
  // Makes the directory. E566 if `path` holds a run already: nothing is
  // overwritten. E575 if another run is starting there. Throws IoError.
  [[nodiscard]] static Result<RunDirectory> create(const std::string& path,
                                                   const RunConfig& config);

  // Resumes in the locked directory. Drops the metrics of steps after
  // `steps_done`, which will be repeated. Throws IoError.
  [[nodiscard]] static RunDirectory resume(RunDirectoryLockPtr lock,
                                           const RunConfig& config,
                                           int steps_done);

  [[nodiscard]] const std::string& path() const { return lock_->path(); }
  [[nodiscard]] std::string file(const std::string& name) const {
    return path() + "/" + name;
  }

  // Throw IoError. Metrics that could not be written are written by the next
  // call that can.
  void add_metrics(const StepReport& report);
  void add_event(int step, const std::string& kind,
                 const std::string& text) const {
    chimera::add_event(path(), step, kind, text);
  }
  void write_state(const std::string& state, int step, int exit_code) const {
    chimera::write_state(path(), {state, step, exit_code});
  }
  // Whether the other ranks, which took this process for dead, have written to
  // state.json that the run failed or that they have saved it. (Code 130 is
  // this process's own warning: see ExitReport::warn.)
  [[nodiscard]] bool was_ended() const;
  // Writes weights/ as a Hugging Face directory of this shape. An older one is
  // kept until the new one is safely on disk.
  void write_weights(const HfShape& shape, WeightReader& weights) const;

 private:
  explicit RunDirectory(RunDirectoryLockPtr lock)
      : lock_(std::move(lock)), metrics_(file("metrics.jsonl")) {}

  RunDirectoryLockPtr lock_;
  AppendFile metrics_;
  std::string unwritten_metrics_;
};

}  // namespace chimera
