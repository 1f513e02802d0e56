// A run that outlives one of its processes: between the loss of a peer and the
// end of this process, its worker saves the run together with the other ranks.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

#include "chimera/cli/run/launcher.h"
#include "chimera/comm/ending.h"
#include "chimera/train/train.h"

namespace chimera {

class Rescue {
 public:
  // `patience`: how long the process waits for its worker.
  Rescue(bool is_on, std::chrono::duration<double> patience)
      : is_on_(is_on), patience_(patience) {}

  // The run is over. Whether `rank` is to save it with the others.
  bool begin(const Ending& ending, int rank);
  // For the worker: the rank that is lost; -1 if there is nothing to save.
  [[nodiscard]] int lost() const;
  // By the worker: it is saved, or will not be.
  void finish(const Recovered& recovered);
  void give_up(const std::string& reason);
  // The steps that were saved; nullopt at once if nothing is to be.
  [[nodiscard]] std::optional<int> wait();

  // Says so if the launcher will probably kill the survivors before they have
  // written the state; empty if not.
  [[nodiscard]] static std::string warning(const RunSetup& setup,
                                           Launcher launcher);

  // Another thread ends the process.
  [[noreturn]] static void wait_for_the_end();

 private:
  bool is_on_;
  std::chrono::duration<double> patience_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  int lost_ = -1;
  bool is_over_ = false;
  std::optional<int> saved_;
};

}  // namespace chimera
