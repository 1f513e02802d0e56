// A run that outlives one of its processes: between the loss of a peer and the
// end of this process, its worker saves the run together with the other ranks.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

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
    // How long the process waits for its worker, or for the other ranks.
    std::chrono::duration<double> patience{};
  };
  // `observer` outlives this.
  SurvivorSave(Options options, RunObserver& observer)
      : options_(std::move(options)), observer_(observer) {}

  // The run is over. Returns whether this rank is to save it with the others.
  bool begin(const Ending& ending);
  // For the worker: the rank that is lost; -1 if there is nothing to save.
  [[nodiscard]] int lost() const;
  // By the worker: it is saved, or will not be.
  void finish(const Recovered& recovered);
  void give_up(const std::string& reason);
  // Waits until the run is saved: by this rank and the others, or, if this rank
  // has failed itself, by the others. Returns the steps that were saved;
  // nullopt if none are, at once if none will be. A rank that fails in its
  // first step would fail there again, so that counts as not saved.
  [[nodiscard]] std::optional<int> wait();

  // Says so if the launcher will probably kill the survivors before they have
  // written the state; empty if not.
  [[nodiscard]] static std::string warning(const RunSetup& setup,
                                           Launcher launcher);

  // Another thread ends the process.
  [[noreturn]] static void wait_for_the_end();

 private:
  [[nodiscard]] std::optional<int> wait_for_worker();
  [[nodiscard]] std::optional<int> wait_for_others() const;

  const Options options_;
  RunObserver& observer_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::optional<Ending> ending_;
  bool is_over_ = false;
  std::optional<int> saved_;
};

}  // namespace chimera
