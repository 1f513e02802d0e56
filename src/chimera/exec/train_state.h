// The state that a checkpoint saves so that training can resume: whole
// parameters, or ranges of their elements.
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

// A copy to host memory that may still be under way.
class HostCopy {
 public:
  HostCopy() = default;
  HostCopy(const HostCopy&) = delete;
  HostCopy& operator=(const HostCopy&) = delete;
  virtual ~HostCopy() = default;

  // Waits until the copy is complete. May be called again, and on any thread.
  virtual void wait() = 0;
};

struct StatePiece {
  std::string kind;
  std::string parameter;            // its name
  std::vector<std::int64_t> shape;  // shape of the whole parameter
  std::int64_t first = 0;           // index of the piece's first element
  NumberBuffer numbers;             // in host memory
  // Owns the numbers, which may be read after its wait(). Null: they are views
  // of the compute's memory.
  std::shared_ptr<HostCopy> copy;
};

}  // namespace chimera
