// Where --resume goes on.
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
  std::string checkpoint;        // empty: from the first step
  std::vector<Skipped> skipped;  // newer ones that are damaged
  // Null where there was no directory to be locked.
  RunDirectoryLockPtr lock;
};

// The newest sound checkpoint of the run. None at all is no mistake: the run
// had not come that far. E587 if there are some but none is sound, with what is
// wrong with each. E575 if the run is still at work. Throws IoError.
[[nodiscard]] Result<ResumePoint> find_resume_point(const std::string& run_dir);

// What was skipped and where it goes on, for the user.
[[nodiscard]] std::string resume_text(const ResumePoint& point,
                                      const RunSetup& setup);

// Makes the run directory, or opens it to go on, and says what it could not
// tidy up there. Throws IoError.
[[nodiscard]] Result<RunDirectory> open_run_directory(const std::string& path,
                                                      const RunSetup& setup,
                                                      const ResumePoint* point,
                                                      RunObserver& observer);

}  // namespace chimera
