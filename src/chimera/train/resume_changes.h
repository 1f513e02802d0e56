// What a run.toml says otherwise than the run whose checkpoint it goes on from.
// Weights and optimizer state mean nothing to another model or optimizer, even
// where every shape fits; all else may change, but not unnoticed.
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
