// Keys of run.toml that hold paths, and where relative ones start.
#pragma once

#include <filesystem>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/config/keys.h"
#include "chimera/config/run_config.h"

namespace chimera {

// Makes relative paths in `config`, the value of `key`, start at `folder`.
// Leaves absolute paths, "" and the key's default ("bytes") as they are, and
// does nothing if `key` holds no path.
void start_path_at(const std::filesystem::path& folder, const ConfigKey& key,
                   RunConfig& config);

// `config` with absolute paths only, so that it means the same wherever it is
// read again. Relative ones start at the working directory.
[[nodiscard]] RunConfig with_absolute_paths(RunConfig config);

// Keys of `config` that name a file or directory to read which does not exist.
[[nodiscard]] std::vector<const ConfigKey*> missing_inputs(RunConfig config);

// E012 for such a key. `where` may be empty. REQUIRES: missing_inputs() names
// it.
[[nodiscard]] Diagnostic missing_input(const ConfigKey& key, RunConfig config);

}  // namespace chimera
