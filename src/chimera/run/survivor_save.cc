#include "chimera/run/survivor_save.h"

#include <fmt/format.h>

#include <cmath>
#include <thread>

#include "chimera/base/files.h"
#include "chimera/exec/program.h"
#include "chimera/train/saving.h"

namespace chimera {

bool SurvivorSave::begin(const Ending& ending) {
  if (!options_.is_on || ending.lost < 0) return false;
  const std::lock_guard lock(mutex_);
  ending_ = ending;
  return ending.lost != options_.rank;
}

int SurvivorSave::lost() const {
  const std::lock_guard lock(mutex_);
  return ending_ ? ending_->lost : -1;
}

void SurvivorSave::finish(const Recovered& recovered) {
  observer_.say(fmt::format(
      "saved {} without rank {}: start the run again with --resume\n",
      recovered.path, recovered.rank));
  const std::lock_guard lock(mutex_);
  saved_ = recovered.step;
  is_over_ = true;
}

void SurvivorSave::give_up(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (is_over_) return;
  observer_.say("error: the run is not saved: " + reason + "\n");
  is_over_ = true;
}

std::optional<int> SurvivorSave::wait() {
  const std::optional<Ending> ending = [this] {
    const std::lock_guard lock(mutex_);
    return ending_;
  }();
  if (!ending) return std::nullopt;
  const bool is_lost = ending->lost == options_.rank;
  if (is_lost && !ending->is_self_reported()) return std::nullopt;
  // A rank that has failed by itself waits for the others, a survivor for its
  // own worker.
  const std::optional<int> saved =
      is_lost ? wait_for_others() : wait_for_worker(ending->lost);
  if (ending->is_self_reported() && saved == options_.first_step) {
    return std::nullopt;
  }
  return saved;
}

std::optional<int> SurvivorSave::wait_for_worker(int lost) const {
  (void)recovery_without(lost).wait_until([this] {
    const std::lock_guard lock(mutex_);
    return is_over_;
  });
  const std::lock_guard lock(mutex_);
  return saved_;
}

Recovery SurvivorSave::recovery_without(int lost) const {
  return Recovery({.run_dir = options_.run_dir,
                   .rank = options_.rank,
                   .survivors = all_but(lost, options_.ranks),
                   .patience = options_.patience});
}

// Waits, because the launcher would kill the other ranks if this process ended
// now.
std::optional<int> SurvivorSave::wait_for_others() const {
  try {
    return recovery_without(options_.rank).wait_for_survivors();
  } catch (const IoError&) {
    return std::nullopt;  // the other ranks report why
  }
}

// mpirun sends SIGTERM a second after a death, and SIGKILL after
// mpirun_kill_delay().
std::string SurvivorSave::warning(const RunSetup& setup, Launcher launcher) {
  constexpr double kBytesPerSecond = 1e8;  // assumed for a shared file system
  const double grace = 1 + mpirun_kill_delay().count();
  const double needed = 1 + static_cast<double>(checkpoint_bytes(setup)) /
                                num_ranks(setup.schedule) / kBytesPerSecond;
  if (!setup.recovers || launcher != Launcher::kMpirun || needed <= grace) {
    return "";
  }
  return fmt::format(
      "warning: run.recover: after the death of a rank mpirun leaves the "
      "others {:.0f} s, and saving takes about {:.0f} s: start it with --mca "
      "odls_base_sigkill_timeout {:.0f}\n",
      grace, needed, std::ceil(3 * needed));
}

void SurvivorSave::wait_for_the_end() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

}  // namespace chimera
