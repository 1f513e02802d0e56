// Loads the weights of a Hugging Face directory for a model of its shape.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/files/hf_directory.h"
#include "chimera/model/model.h"
#include "chimera/model/parameter_block.h"

namespace chimera {

struct StoredWeights {
  // Reads one parameter. It keeps the directory open.
  ParameterInit init;
  // Parameters that the directory lacks: `init` draws them from the seed.
  std::vector<std::string> fresh;
};

// Finds every parameter of `model` in the directory, or returns all its errors.
[[nodiscard]] Result<StoredWeights> find_weights(
    const std::shared_ptr<const HfDirectory>& directory, const Model& model,
    std::int64_t seed);

// The model that a config.json describes, for samples of `seq` tokens.
[[nodiscard]] ModelDetails details_of(const HfShape& shape, int seq);

}  // namespace chimera
