// One copy of a stage's weights for all ranks of a process: each rank updates
// its shard, and no gather is needed.
//
// Sharing is safe in synchronous schedules with sharded updates: an update
// comes after the sum of its stage's gradients, hence after the last backward
// of every holder, and the next forward waits for the updates of all shards.
#pragma once

#include <functional>
#include <map>
#include <mutex>

#include "chimera/model/memory_meter.h"
#include "chimera/model/parameter_block.h"

namespace chimera {

class SharedWeights {
 public:
  // Returns the numbers of the stage that starts with `first_layer`. The first
  // caller makes them; every caller's memory meter is charged. Thread-safe.
  [[nodiscard]] BlockNumbers get(int first_layer,
                                 const std::function<BlockNumbers()>& make) {
    const std::lock_guard lock(mutex_);
    BlockNumbers& numbers = numbers_[first_layer];
    const bool is_new = !numbers.flat.defined();
    if (is_new) numbers = make();
    for (const at::Tensor& tensor : {numbers.flat, numbers.rounded}) {
      if (!tensor.defined()) continue;
      if (is_new) disclaim(tensor);
      count_too(tensor);
    }
    return numbers;
  }

 private:
  std::mutex mutex_;
  std::map<int, BlockNumbers> numbers_;
};

}  // namespace chimera
