// Shapes of well-known models by name, for `model.preset` and `plan --model`.
#pragma once

#include <optional>
#include <string_view>

#include "chimera/config/run_config.h"

namespace chimera {

// All presets. bert-48, gpt2-64 and gpt2-32 are the models of Li & Hoefler
// (SC'21), whose input embedding and output head are not tied. llama-1b and
// llama-8b have the shapes of Llama 3.2 1B and Llama 3 8B. The tiny ones are
// for tests.
[[nodiscard]] Names preset_names();

[[nodiscard]] std::optional<ModelShape> find_preset(std::string_view name);

}  // namespace chimera
