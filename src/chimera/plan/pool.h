// The few best orders that were found, best first.
#pragma once

#include <algorithm>
#include <vector>

#include "chimera/schedule/planned/list_scheduler.h"

namespace chimera::planned {

class Pool {
 public:
  // Takes over what is in `order` if it is among the best.
  void offer(ListedOrder& order) {
    if (orders_.size() == kMost && !is_better(order, orders_.back())) return;
    for (const ListedOrder& known : orders_) {
      if (known.lists == order.lists) return;
    }
    const auto place =
        std::upper_bound(orders_.begin(), orders_.end(), order, is_better);
    orders_.insert(place, std::move(order));
    if (orders_.size() > kMost) orders_.pop_back();
  }

  [[nodiscard]] const std::vector<ListedOrder>& orders() const {
    return orders_;
  }
  [[nodiscard]] const ListedOrder& best() const { return orders_.front(); }
  // Nothing better exists, and steps follow one another without a gap.
  [[nodiscard]] bool is_perfect(Ticks bound) const {
    return !orders_.empty() && best().span <= bound && best().lateness == 0;
  }

 private:
  static constexpr size_t kMost = 4;

  std::vector<ListedOrder> orders_;
};

}  // namespace chimera::planned
