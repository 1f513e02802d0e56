// The state that a checkpoint saves so that training can resume, as views into
// memory: whole parameters, or ranges of their elements.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "chimera/comm/transport.h"

namespace chimera {

// Kinds of tensors per parameter; optimizers add more.
inline constexpr const char* kWeightsKind = "weights";
// The previous weights, if forwards still use them.
inline constexpr const char* kPreviousKind = "previous_weights";

struct StatePiece {
  std::string kind;
  std::string parameter;              // its name
  std::vector<std::int64_t> shape;    // of the whole parameter
  std::int64_t first = 0;             // index of the piece's first element
  NumberBuffer numbers;               // in host memory
  std::shared_ptr<const void> owner;  // of that memory; null: StageCompute
};

}  // namespace chimera
