// The time at which each worker next looks for work: a tree of minima, so that
// the earliest is found in the logarithm of the workers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "chimera/schedule/list_scheduling/problem.h"

namespace chimera::ordering {

class WakeTimes {
 public:
  explicit WakeTimes(int workers) {
    while (leaves_ < static_cast<std::size_t>(workers)) leaves_ *= 2;
    times_.assign(2 * leaves_, kNever);
  }

  void set(int worker, Ticks at) {
    std::size_t node = leaves_ + worker;
    times_[node] = at;
    for (node /= 2; node > 0; node /= 2) {
      times_[node] = std::min(times_[2 * node], times_[2 * node + 1]);
    }
  }

  [[nodiscard]] Ticks of(int worker) const { return times_[leaves_ + worker]; }
  [[nodiscard]] Ticks earliest() const { return times_[1]; }
  // The worker with the earliest time; on a tie the lowest one.
  [[nodiscard]] int first() const {
    std::size_t node = 1;
    while (node < leaves_) {
      node *= 2;
      if (times_[node] != times_[1]) ++node;
    }
    return static_cast<int>(node - leaves_);
  }

 private:
  std::size_t leaves_ = 1;
  std::vector<Ticks> times_;  // [node]; leaves from leaves_ on
};

}  // namespace chimera::ordering
