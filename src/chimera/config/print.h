// A RunConfig as the run.toml that says the same.
#pragma once

#include <string>
#include <vector>

#include "chimera/config/run_config.h"

namespace chimera {

// Every key that has a value and belongs to the model's kind, defaults too, so
// that a saved run does not change its meaning when a default does.
// REQUIRES: `config` comes from parse_run_config, or would pass it.
// ENSURES: parsing the text gives an equal RunConfig.
[[nodiscard]] std::string print_run_config(const RunConfig& config);

// "train.lr = 0.001" for each key of a printed config.
[[nodiscard]] std::vector<std::string> key_lines(const std::string& printed);

}  // namespace chimera
