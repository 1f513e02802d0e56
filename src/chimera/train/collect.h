// What is spread over the ranks at the end of a run, brought to rank 0: by
// messages, whether ranks are threads (and a tensor changes hands without a
// copy) or processes.
#pragma once

#include <functional>
#include <vector>

#include "chimera/exec/worker.h"
#include "chimera/model/torch_compute.h"
#include "chimera/trace/trace.h"
#include "chimera/train/weight_reader.h"

namespace chimera {

// Calls `use` on rank 0; the other ranks serve what it reads until it returns.
// All ranks call this.
void read_weights(const TorchComputeOptions& options, Worker& worker,
                  Transport& transport,
                  const std::function<void(WeightReader& reader)>& use);

// A rank's clock against rank 0's, over a run. All ranks make and use it at
// once.
class TraceClock {
 public:
  explicit TraceClock(Transport& transport);

  // The events of all ranks by rank 0's clock, on rank 0; elsewhere empty.
  // REQUIRES: they count seconds from the steady clock's own epoch.
  [[nodiscard]] std::vector<std::vector<Event>> gather(
      std::vector<Event> events);

 private:
  struct Reading {
    double time = 0;    // of this rank's clock, s
    double offset = 0;  // its lead, s
  };
  [[nodiscard]] Reading read(Channel channel);

  Transport& transport_;
  Reading first_;
};

}  // namespace chimera
