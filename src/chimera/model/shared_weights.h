// One copy of a stage's weights for all ranks of a process: each rank updates
// its shard, and no gather is needed.
//
// Sharing is safe in synchronous schedules with sharded updates: an update
// comes after the sum of its stage's gradients, hence after the last backward
// of every holder, and the next forward waits for the updates of all shards.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <mutex>

#include "chimera/model/memory_meter.h"

namespace chimera {

class SharedWeights {
 public:
  // Returns the numbers of the stage that starts with `first_layer`. The first
  // caller makes them; every caller's memory meter is charged. Thread-safe.
  [[nodiscard]] at::Tensor get(int first_layer,
                               const std::function<at::Tensor()>& make) {
    const std::lock_guard lock(mutex_);
    at::Tensor& numbers = numbers_[first_layer];
    if (!numbers.defined()) {
      numbers = make();
      disclaim(numbers);
    }
    count_too(numbers);
    return numbers;
  }

 private:
  std::mutex mutex_;
  std::map<int, at::Tensor> numbers_;
};

}  // namespace chimera
