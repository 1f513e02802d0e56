#include "chimera/cli/run/last_words.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "chimera/exec/progress.h"
#include "chimera/train/run_directory.h"

namespace chimera {

std::string LastWords::place_of(int rank) const {
  const Transport* transport = transport_;
  return describe_progress(
      options_.schedule, rank,
      transport == nullptr ? 0 : transport->progress_of(rank));
}

std::string LastWords::text(const Ending& ending) const {
  const std::string& me = options_.rank_names[options_.rank];
  const std::string here = me + ", " + place_of(options_.rank) + ": ";
  if (ending.lost >= 0) {
    return here + fmt::format(
                      "lost {}, not heard for {:.1f} s; its last action was: "
                      "{}; it was killed or stopped, or its host or link is "
                      "down",
                      options_.rank_names[ending.lost], ending.silent_s,
                      place_of(ending.lost));
  }
  if (ending.origin == options_.rank || ending.origin < 0) {
    return ending.reason.starts_with(me) ? ending.reason : here + ending.reason;
  }
  return here + fmt::format("ended by {}: {}",
                            options_.rank_names[ending.origin], ending.reason);
}

// Where the run directory is shared by all hosts any rank may say how it ended;
// where it is not, it is rank 0's.
void LastWords::leave_state(int exit_code) const {
  std::error_code error;
  if (!std::filesystem::exists(options_.run_dir + "/config.toml", error)) {
    return;
  }
  const Transport* transport = transport_;
  const int steps = transport == nullptr
                        ? 0
                        : steps_before(transport->progress_of(options_.rank));
  try {
    write_state(options_.run_dir, {"failed", steps, exit_code});
  } catch (const std::exception&) {
    return;  // nobody left to tell
  }
}

void LastWords::speak_and_exit(const Ending& ending) const {
  const std::string said = text(ending);
  // One write, so that lines of several ranks do not mix.
  const std::string line = "error: " + said + "\n";
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) {
    // The files below say it, too.
  }
  options_.flights.write(options_.run_dir, options_.rank_names, said);
  leave_state(ending.exit_code);
  _exit(ending.exit_code);
}

}  // namespace chimera
