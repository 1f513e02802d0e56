// The best few orders found so far, best first.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "chimera/schedule/list_scheduling/list_scheduler.h"
#include "chimera/search/judge.h"

namespace chimera::ordering {

class Pool {
 public:
  explicit Pool(Aim aim) : aim_(aim) {}

  // Moves from `order` if it is among the best; otherwise leaves it as it is.
  void offer(ListedOrder& order) {
    const auto is_better = [this](const ListedOrder& a, const ListedOrder& b) {
      return rank(a) < rank(b);
    };
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
  // True if the pool is full and each of its orders is optimal: it meets the
  // bound, and steps follow one another without a gap.
  [[nodiscard]] bool is_perfect(Ticks bound) const {
    return orders_.size() == kMost && orders_.back().span <= bound &&
           orders_.back().lateness == 0;
  }

 private:
  static constexpr size_t kMost = 12;

  using Rank = std::pair<Ticks, Ticks>;
  [[nodiscard]] Rank rank(const ListedOrder& order) const {
    if (aim_ == Aim::kStep) return {order.span, order.lateness};
    return {order.period, order.span};
  }

  Aim aim_;
  std::vector<ListedOrder> orders_;
};

}  // namespace chimera::ordering
