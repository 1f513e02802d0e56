#include "chimera/run/ranks/exit_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "chimera/base/files.h"
#include "chimera/exec/progress.h"
#include "chimera/run/failure.h"

namespace chimera {

std::string ExitReport::reason(const Ending& ending) const {
  if (ending.lost < 0 || ending.is_self_reported()) {
    if (ending.origin < 0) return ending.reason;
    const std::string& origin = options_.rank_names[ending.origin];
    return ending.reason.starts_with(origin) ? ending.reason
                                             : origin + ": " + ending.reason;
  }
  const std::string how =
      ending.is_dead
          ? "its process has died"
          : fmt::format(
                "not heard for {:.1f} s: stopped, or its host or link is down",
                ending.silent_s);
  return fmt::format(
      "lost {}: {}; its last action was: {}", options_.rank_names[ending.lost],
      how, describe_progress(options_.schedule, ending.lost, ending.progress));
}

std::string ExitReport::text(const Ending& ending,
                             std::uint64_t progress) const {
  const std::string& me = options_.rank_names[options_.rank];
  const std::string here =
      me + ", " +
      describe_progress(options_.schedule, options_.rank, progress) + ": ";
  const bool is_found_lost = ending.lost >= 0 && !ending.is_self_reported();
  if (is_found_lost && ending.lost == options_.rank) {
    return here + fmt::format(
                      "was not heard by {} for {:.1f} s, which has "
                      "ended the run: was it stopped?",
                      options_.rank_names[ending.origin], ending.silent_s);
  }
  if (is_found_lost) return here + reason(ending);
  if (ending.origin == options_.rank || ending.origin < 0) {
    return ending.reason.starts_with(me) ? ending.reason : here + ending.reason;
  }
  const std::string& origin = options_.rank_names[ending.origin];
  return here + (ending.reason.starts_with(origin)
                     ? "ended, as " + ending.reason
                     : "ended by " + origin + ": " + ending.reason);
}

bool ExitReport::has_directory() const {
  std::error_code error;
  return leaves_state_ &&
         std::filesystem::exists(options_.run_dir + "/config.toml", error);
}

// Only the first of the remaining ranks adds the event: all would write the
// same.
void ExitReport::leave_event(const Ending& ending) const {
  const int first = ending.lost == 0 && !ending.is_self_reported() ? 1 : 0;
  if (options_.rank != first || !has_directory()) return;
  try {
    add_event(options_.run_dir, steps_, "fault", reason(ending));
  } catch (const std::exception&) {
    return;  // the flight recorder holds the reason as well
  }
}

void ExitReport::leave_state(const RunState& state) const {
  if (!has_directory()) return;
  // Ranks that took this one for dead may have saved the run meanwhile.
  const Result<std::string> now = read_file(options_.run_dir + "/state.json");
  const bool is_saved = now && now->find("\"saved\"") != std::string::npos;
  if (is_saved && state.exit_code != kExitSaved) return;
  try {
    write_state(options_.run_dir, state);
  } catch (const std::exception&) {
    return;  // too late to report it
  }
}

void ExitReport::report(const Ending& ending) {
  const Transport* transport = transport_;
  const std::uint64_t progress =
      transport == nullptr ? 0 : transport->progress_of(options_.rank);
  steps_ = steps_before(progress);
  // A rank that was taken for dead must not overwrite what the others wrote.
  leaves_state_ = ending.lost != options_.rank || ending.is_self_reported();
  const std::string said = text(ending, progress);
  // One call, so that lines of several ranks do not mix.
  options_.observer.say("error: " + said + "\n");
  options_.flights.write(options_.run_dir, options_.rank_names, said);
  leave_event(ending);
  leave_state({"failed", steps_, exit_code_of(ending.kind)});
  settle();
}

// The exit code may have changed since report().
void ExitReport::leave(ExitCode code) const {
  leave_state({"failed", steps_, code});
  options_.observer.before_exit();
  _exit(code);
}

void ExitReport::leave_saved(int steps) const {
  leave_state({"saved", steps, kExitSaved});
  options_.observer.before_exit();
  _exit(kExitSaved);
}

void ExitReport::settle() {
  {
    const std::lock_guard lock(mutex_);
    is_settled_ = true;
  }
  settled_.notify_all();
}

void ExitReport::warn() {
  std::unique_lock lock(mutex_);
  if (settled_.wait_for(lock, std::chrono::milliseconds(700),
                        [this] { return is_settled_; })) {
    return;
  }
  const Result<std::string> state = read_file(options_.run_dir + "/state.json");
  if (!state || state->find("running") == std::string::npos) return;
  const Transport* transport = transport_;
  const std::uint64_t progress = transport->progress_of(options_.rank);
  const std::string said =
      "asked to end (SIGTERM), but the step is not done: " +
      describe_progress(options_.schedule, options_.rank, progress) +
      "; if the launcher kills it now, what came after the last checkpoint is "
      "lost (kill -USR1 waits for the step)";
  options_.observer.say("warning: " + said + "\n");
  options_.flights.write(options_.run_dir, options_.rank_names, said);
  leave_state({"failed", steps_before(progress), kExitInterrupted});
}

}  // namespace chimera
