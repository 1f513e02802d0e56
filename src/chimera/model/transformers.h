// The layer lists that make_model returns, one .cc file each.
#pragma once

#include <memory>
#include <vector>

#include "chimera/model/model.h"

namespace chimera {

[[nodiscard]] std::vector<std::unique_ptr<Layer>> gpt2_layers(
    const ModelDetails& details);
[[nodiscard]] std::vector<std::unique_ptr<Layer>> bert_layers(
    const ModelDetails& details);
[[nodiscard]] std::vector<std::unique_ptr<Layer>> llama_layers(
    const ModelDetails& details);

}  // namespace chimera
