// The weights of a Hugging Face directory, for a model of its shape.
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
  // Reads a parameter; keeps the directory open.
  ParameterInit init;
  // Parameters that are not stored: `init` draws them from the seed.
  std::vector<std::string> fresh;
};

// Finds every parameter of `model`; what is wrong with the directory otherwise.
[[nodiscard]] Result<StoredWeights> find_weights(
    const std::shared_ptr<const HfDirectory>& directory, const Model& model,
    std::int64_t seed);

// A model as its config.json describes it, for samples of `seq` tokens.
[[nodiscard]] ModelDetails details_of(const HfShape& shape, int seq);

}  // namespace chimera
