// Checks that all holders of a stage have the same weights, bit for bit. If
// they differ, a memory, a processor or this program is at fault, and further
// training is worthless.
#pragma once

#include <stdexcept>
#include <string>

#include "chimera/exec/worker.h"
#include "chimera/model/torch_compute.h"

namespace chimera {

// Thrown if replicas of a stage differ.
class ReplicaError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct ReplicaCheck {
  const TorchComputeOptions& options;
  const Program& program;
  int step = 0;  // steps done
};

// All ranks call it. Throws ReplicaError on rank 0, naming the stages and
// workers that differ.
void compare_replicas(const ReplicaCheck& check, Worker& worker,
                      Transport& transport);

}  // namespace chimera
