// The training state of an earlier run, as parameters ask for it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>

#include "chimera/model/parameter_spec.h"

namespace chimera {

struct RestoredState {
  std::int64_t updates = 0;   // that the weights have seen
  bool has_previous = false;  // of one update earlier, for those who use them
  // The numbers of a kind (exec/train_state.h), in the parameter's shape.
  // Throws IoError.
  std::function<at::Tensor(const std::string& kind, const ParameterSpec& spec)>
      read;
};

}  // namespace chimera
