#include "chimera/run/resume_point.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

namespace chimera {

namespace {

// Finds weights of a run that ended without checkpoints. Starting it again from
// the first step would replace them.
std::optional<Diagnostic> find_weights(const std::string& run_dir) {
  const std::string weights = run_dir + "/weights";
  std::error_code error;
  if (!std::filesystem::exists(weights, error)) return std::nullopt;
  return Diagnostic{
      .kind = DiagnosticKind::kCheckpoint,
      .code = "E587",
      .where = run_dir,
      .found = "weights of a run that has ended, but no checkpoint",
      .needed = "to go on from",
      .hint = fmt::format("to train them further: --set model.init={} in "
                          "another --run-dir; run.save_every makes checkpoints",
                          weights)};
}

}  // namespace

Result<ResumePoint> find_resume_point(const std::string& run_dir) {
  // Locked before anything is read, because a running run would save and remove
  // checkpoints meanwhile. If the directory is missing or not writable,
  // open_run_directory() reports it later, once everything else has been
  // checked.
  RunDirectoryLockPtr lock;
  if (access(run_dir.c_str(), W_OK) == 0) {
    const Result<RunDirectoryLockPtr> taken = lock_run_directory(run_dir);
    if (!taken) return taken.errors();
    lock = *taken;
  }
  const Newest newest = find_newest(run_dir);
  if (!newest.path && newest.skipped.empty()) {
    if (const std::optional<Diagnostic> found = find_weights(run_dir)) {
      return *found;
    }
  }
  if (newest.path || newest.skipped.empty()) {
    return ResumePoint{newest.path.value_or(""), newest.skipped, lock};
  }
  Diagnostics errors;
  for (const Skipped& skipped : newest.skipped) {
    errors.insert(errors.end(), skipped.reasons.begin(), skipped.reasons.end());
  }
  errors.push_back({.kind = DiagnosticKind::kCheckpoint,
                    .code = "E587",
                    .where = checkpoints_path(run_dir),
                    .found = "no checkpoint",
                    .needed = "is sound",
                    .hint = "start anew in another --run-dir"});
  return errors;
}

std::string resume_text(const ResumePoint& point, const RunSetup& setup) {
  std::string text;
  for (const Skipped& skipped : point.skipped) {
    text += fmt::format("note: skipped {}, now called .damaged: {}\n",
                        skipped.path, to_string(skipped.reasons.front()));
  }
  if (point.checkpoint.empty()) {
    return text + "no checkpoint yet: starting from the first step\n";
  }
  return text + fmt::format("going on after step {} from {}\n",
                            setup.start.step, point.checkpoint);
}

Result<RunDirectory> open_run_directory(const std::string& path,
                                        const RunSetup& setup,
                                        const ResumePoint* point,
                                        RunObserver& observer) {
  if (point == nullptr) return RunDirectory::create(path, setup.config);
  const Result<RunDirectoryLockPtr> lock =
      point->lock ? point->lock : lock_run_directory(path);
  if (!lock) return lock.errors();
  for (const std::string& warning : tidy_checkpoints(path, point->skipped)) {
    observer.say("warning: " + warning + "\n");
  }
  return RunDirectory::resume(*lock, setup.config, setup.start.step);
}

}  // namespace chimera
