// The holders of a stage must have the same weights, bit for bit. If they have
// not, a memory or a processor is at fault, or this program: either way what
// comes after is worth nothing.
#pragma once

#include <stdexcept>
#include <string>

#include "chimera/exec/worker.h"
#include "chimera/model/torch_compute.h"

namespace chimera {

// Thrown where replicas of a stage differ.
class ReplicaError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct ReplicaCheck {
  const TorchComputeOptions& options;
  const Program& program;
  int step = 0;  // steps done
};

// All ranks call it. On rank 0 throws ReplicaError, which names the stages and
// the workers that differ.
void compare_replicas(const ReplicaCheck& check, Worker& worker,
                      Transport& transport);

}  // namespace chimera
