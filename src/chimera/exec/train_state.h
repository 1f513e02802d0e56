// What must outlive a run so that training can go on from where it stood, as
// it lies in memory: whole parameters, or ranges of their elements.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chimera/comm/transport.h"

namespace chimera {

// The kinds of a parameter's numbers; optimizers add their own.
inline constexpr const char* kWeightsKind = "weights";
// The weights one update earlier, where forwards still use them.
inline constexpr const char* kPreviousKind = "previous_weights";

struct StatePiece {
  std::string kind;
  std::string parameter;            // its name
  std::vector<std::int64_t> shape;  // of the whole parameter
  std::int64_t first = 0;           // the element where the piece begins
  NumberBuffer numbers;
};

}  // namespace chimera
