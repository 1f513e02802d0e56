// Prints a RunConfig as the run.toml with the same meaning.
#pragma once

#include <string>
#include <vector>

#include "chimera/config/run_config.h"

namespace chimera {

// Prints every key that has a value and belongs to the model's kind, including
// defaults, so that a saved run keeps its meaning if a default changes.
// REQUIRES: `config` comes from parse_run_config, or would pass it. ENSURES:
// parsing the text gives an equal RunConfig.
[[nodiscard]] std::string print_run_config(const RunConfig& config);

// One line "train.lr = 0.001" for each key of a printed config.
[[nodiscard]] std::vector<std::string> key_lines(const std::string& printed);

}  // namespace chimera
