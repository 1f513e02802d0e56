// The training state of an earlier run, read parameter by parameter.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>

#include "chimera/model/parameter_spec.h"

namespace chimera {

struct RestoredState {
  std::int64_t updates = 0;   // updates applied to the weights
  bool has_previous = false;  // the weights before the last update exist (2BW)
  // Returns the numbers of one kind (exec/train_state.h) in the parameter's
  // shape. Throws IoError.
  std::function<at::Tensor(const std::string& kind, const ParameterSpec& spec)>
      read;
};

}  // namespace chimera
