// The survivor save: between the loss of a peer and the end of this process,
// its worker saves the run together with the other survivors.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>

#include "chimera/checkpoint/recovery.h"
#include "chimera/comm/ending.h"
#include "chimera/run/launcher.h"
#include "chimera/run/run.h"
#include "chimera/train/train.h"

namespace chimera {

class SurvivorSave {
 public:
  struct Options {
    bool is_on = false;
    std::string run_dir;
    int rank = 0;
    int ranks = 1;
    int first_step = 0;  // steps done when this process started
    // Longest wait for a survivor, or for the worker, without a sign of life.
    std::chrono::duration<double> patience{};
  };
  // REQUIRES: `observer` outlives this object.
  SurvivorSave(Options options, RunObserver& observer)
      : options_(std::move(options)), observer_(observer) {}

  // Called when the run ends early. Returns whether this rank takes part in the
  // survivor save.
  bool begin(const Ending& ending);
  // Called by the worker. Returns the rank that was lost; -1 if there is
  // nothing to save.
  [[nodiscard]] int lost() const;
  // Called by the worker once the run is saved, or cannot be.
  void finish(const Recovered& recovered);
  void give_up(const std::string& reason);
  // Waits until the survivors have saved the run. Returns the number of steps
  // saved; nullopt if nothing is or will be saved. A rank that failed in its
  // first step would fail again after a restart, so that counts as not saved.
  [[nodiscard]] std::optional<int> wait();

  // A warning if the launcher will probably kill the survivors before they have
  // saved; else empty.
  [[nodiscard]] static std::string warning(const RunSetup& setup,
                                           Launcher launcher);

  // Sleeps until another thread ends the process.
  [[noreturn]] static void wait_for_the_end();

 private:
  [[nodiscard]] std::optional<int> wait_for_worker(int lost) const;
  [[nodiscard]] std::optional<int> wait_for_others() const;
  [[nodiscard]] Recovery recovery_without(int lost) const;

  const Options options_;
  RunObserver& observer_;
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::optional<Ending> ending_;
  bool is_over_ = false;
  std::optional<int> saved_;
};

}  // namespace chimera
