// Writes the files of a run during and after training, and informs its
// RunObserver. One object per process. Processes other than rank 0's have no
// directory and write almost nothing.
#pragma once

#include <atomic>
#include <optional>

#include "chimera/report/event_file.h"
#include "chimera/run/flights.h"
#include "chimera/run/run.h"
#include "chimera/run/run_directory.h"
#include "chimera/run/signals.h"
#include "chimera/run/survivor_save.h"
#include "chimera/train/train.h"

namespace chimera {

class RunWriter final : public TrainObserver {
 public:
  // REQUIRES: everything that these refer to outlives the writer.
  struct Options {
    const RunStart& start;
    RunDirectory* directory = nullptr;  // null on ranks other than 0
    Flights& flights;
    const Signals& signals;
    RunObserver& observer;
    SurvivorSave* survivors = nullptr;  // null if ranks are threads
  };

  explicit RunWriter(const Options& options)
      : options_(options), next_state_(Clock::now()) {}

  // Before the first step: writes schedule.sched and machine.json. Throws
  // IoError, also if the disk has no room for what the run will write.
  void start();

  void on_step(const StepReport& report) override;
  void on_replan(const Replanned& replanned) override;
  void on_save(const SaveResult& save) override;
  void on_late(const LatePart& part) override;
  void on_unwritten(const UnwrittenPart& part) override;
  void on_recovered(const Recovered& recovered) override;
  [[nodiscard]] Wish wish() override { return options_.signals.wish(); }
  bool take_weights(const TrainOutcome& outcome,
                    WeightReader& weights) override;
  [[nodiscard]] FlightRecorder* flight(int rank) override {
    return options_.flights.at(rank);
  }
  [[nodiscard]] int lost_rank() override;

  // Writes trace, memory.json and state.json after training, and returns the
  // exit code. Ranks other than 0 do not know whether everything could be
  // written.
  [[nodiscard]] ExitCode finish(const TrainOutcome& outcome);
  // Writes state.json, and a fault, after training has thrown.
  void fail(ExitCode code, const std::string& reason);

  // Number of steps reported so far.
  [[nodiscard]] int steps() const { return steps_; }

 private:
  void check_space() const;
  // Calls `write` and reports its failure. A full disk does not end a run: the
  // next line may fit again.
  template <typename Write>
  void try_to(const Write& write);
  void write_metrics(const StepReport& report);
  void open_tensorboard();
  void write_tensorboard(const StepReport& report);
  // A line of events.jsonl about the step done last.
  void note(const std::string& kind, const std::string& text) const;
  // Says "warning: ..." and notes it.
  void warn(const std::string& text) const;
  void say_how_to_go_on(const TrainOutcome& outcome, ExitCode code) const;
  void write_trace(const TrainOutcome& outcome) const;
  void write_memory(const TrainOutcome& outcome) const;
  [[nodiscard]] bool write_weights_here(WeightReader& weights) const;
  void write_weights_elsewhere(WeightReader& weights) const;
  void say_where(const std::string& weights) const;
  [[nodiscard]] RunDirectory& directory() const { return *options_.directory; }
  [[nodiscard]] const RunSetup& setup() const { return options_.start.setup; }

  Options options_;
  std::optional<EventFile> tensorboard_;
  std::atomic<int> steps_ = 0;
  bool has_explained_mfu_ = false;
  bool has_unwritten_ = false;  // some file of this run could not be written
  Clock::time_point next_state_;
};

}  // namespace chimera
