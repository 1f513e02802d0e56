#include "chimera/cli/run/rescue.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <thread>

#include "chimera/exec/program.h"

namespace chimera {

bool Rescue::begin(const Ending& ending, int rank) {
  if (!is_on_ || ending.lost < 0 || ending.lost == rank) return false;
  const std::lock_guard lock(mutex_);
  lost_ = ending.lost;
  return true;
}

int Rescue::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

void Rescue::finish(const Recovered& recovered) {
  const std::string line = fmt::format(
      "saved {} without rank {}: start the run again with --resume\n",
      recovered.path, recovered.rank);
  const std::lock_guard lock(mutex_);
  saved_ = recovered.step;
  is_over_ = true;
  // One write, so that lines of several ranks do not mix; state.json says it,
  // too.
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) lost_ = -1;
  changed_.notify_all();
}

void Rescue::give_up(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (is_over_) return;
  const std::string line = "error: the run is not saved: " + reason + "\n";
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) lost_ = -1;
  is_over_ = true;
  changed_.notify_all();
}

std::optional<int> Rescue::wait() {
  std::unique_lock lock(mutex_);
  if (lost_ < 0) return std::nullopt;
  changed_.wait_for(lock, patience_, [this] { return is_over_; });
  return saved_;
}

// mpirun sends SIGTERM a second after a death, and SIGKILL so much later.
std::string Rescue::warning(const RunSetup& setup, Launcher launcher) {
  constexpr double kBytesPerSecond = 1e8;  // of a shared file system
  const char* given = std::getenv("OMPI_MCA_odls_base_sigkill_timeout");
  const double grace = 1 + (given != nullptr ? std::atof(given) : 1);
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

void Rescue::wait_for_the_end() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

}  // namespace chimera
