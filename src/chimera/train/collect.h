// Collects on rank 0 what the ranks hold at the end of a run. Everything
// travels by messages. If ranks are threads, a tensor changes hands without a
// copy.
#pragma once

#include <functional>
#include <vector>

#include "chimera/exec/worker.h"
#include "chimera/model/torch_compute.h"
#include "chimera/trace/trace.h"
#include "chimera/train/weight_reader.h"

namespace chimera {

// Calls `use` on rank 0; the other ranks answer its reads until it returns. All
// ranks call this.
void read_weights(const TorchComputeOptions& options, Worker& worker,
                  Transport& transport,
                  const std::function<void(WeightReader& reader)>& use);

// Compares a rank's clock with rank 0's at the beginning and at the end of a
// run. All ranks construct and use it at the same points.
class TraceClock {
 public:
  explicit TraceClock(Transport& transport);

  // Returns the events of all ranks in rank 0's time, on rank 0; empty
  // elsewhere. REQUIRES: event times count seconds from the steady clock's own
  // epoch.
  [[nodiscard]] std::vector<std::vector<Event>> gather(
      std::vector<Event> events);

 private:
  struct Reading {
    double time = 0;    // by this rank's clock, s
    double offset = 0;  // lead over rank 0's clock, s
  };
  [[nodiscard]] Reading read(Channel channel);

  Transport& transport_;
  Reading first_;
};

}  // namespace chimera
