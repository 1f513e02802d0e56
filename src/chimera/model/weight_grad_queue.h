// The deferred half of a backward. When a schedule splits the backward into I
// and W, layers compute only the gradient of their input in I and queue the
// gradient of their weights here, for W.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace chimera {

// The queue of one stage and micro-batch, used by one thread. Work runs in the
// order in which it was pushed, so I then W adds in the same order as B and
// gives the same bits.
class WeightGradQueue {
 public:
  void push(std::function<void()> work) { work_.push_back(std::move(work)); }

  // Runs all work in order and frees each piece as soon as it is done.
  void run() {
    for (std::function<void()>& work : work_) std::exchange(work, nullptr)();
    work_.clear();
  }

  [[nodiscard]] bool empty() const { return work_.empty(); }
  [[nodiscard]] std::size_t size() const { return work_.size(); }

 private:
  std::vector<std::function<void()>> work_;
};

}  // namespace chimera
