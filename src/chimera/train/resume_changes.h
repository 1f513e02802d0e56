// Compares a run.toml with the run whose checkpoint it continues. A
// checkpoint's weights and optimizer state mean nothing to another model or
// optimizer, even if every shape fits, so such changes are errors; all other
// changes are noted.
#pragma once

#include <string>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/train/resume.h"

namespace chimera {

struct Changes {
  Diagnostics errors;  // E584 another model, E585 another optimizer
  std::vector<std::string> notes;
};

// REQUIRES: the model of `setup` is set up.
[[nodiscard]] Changes changes_since(const SavedRun& saved,
                                    const RunSetup& setup);

}  // namespace chimera
