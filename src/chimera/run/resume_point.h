// The point at which --resume continues.
#pragma once

#include <string>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/checkpoint/catalog.h"
#include "chimera/run/run.h"
#include "chimera/run/run_directory.h"
#include "chimera/run/run_directory_lock.h"
#include "chimera/train/setup.h"

namespace chimera {

struct ResumePoint {
  std::string checkpoint;        // empty: start from the first step
  std::vector<Skipped> skipped;  // newer checkpoints that are damaged
  // Null if there was no directory to lock.
  RunDirectoryLockPtr lock;
};

// Finds the newest valid checkpoint. A run without checkpoints is no mistake:
// it had not saved yet. E587 if there are checkpoints but none is valid, with
// the defects of each; E575 if the run is still running. Throws IoError.
[[nodiscard]] Result<ResumePoint> find_resume_point(const std::string& run_dir);

// Tells the user what was skipped and where the run resumes.
[[nodiscard]] std::string resume_text(const ResumePoint& point,
                                      const RunSetup& setup);

// Makes the run directory, or opens it to resume, and reports leftovers that
// could not be removed. Throws IoError.
[[nodiscard]] Result<RunDirectory> open_run_directory(const std::string& path,
                                                      const RunSetup& setup,
                                                      const ResumePoint* point,
                                                      RunObserver& observer);

}  // namespace chimera
