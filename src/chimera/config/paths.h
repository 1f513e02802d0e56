// The keys of run.toml that hold paths, and the base of relative paths.
#pragma once

#include <filesystem>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/config/keys.h"
#include "chimera/config/run_config.h"

namespace chimera {

// Makes relative paths in `key` of `config` start at `folder`. Absolute paths,
// "" and the key's default ("bytes") stay as they are. Does nothing if `key`
// holds no path.
void start_path_at(const std::filesystem::path& folder, const ConfigKey& key,
                   RunConfig& config);

// Returns `config` with absolute paths only, so that it means the same wherever
// it is read again. Relative paths start at the working directory.
[[nodiscard]] RunConfig with_absolute_paths(RunConfig config);

// The keys of `config` that name a file or directory to read that does not
// exist.
[[nodiscard]] std::vector<const ConfigKey*> missing_inputs(RunConfig config);

// The E012 diagnostic for a key that missing_inputs() has returned. Its `where`
// may be empty.
[[nodiscard]] Diagnostic missing_input(const ConfigKey& key, RunConfig config);

}  // namespace chimera
