// A small map from (number, step) to items. It holds few items at once, so a
// linear search is short, and nothing is allocated once it has grown.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "chimera/base/check.h"

namespace chimera {

template <class T>
class Shelf {
 public:
  void put(std::size_t number, int step, T thing) {
    items_.push_back({number, step, std::move(thing)});
  }

  [[nodiscard]] bool has(std::size_t number, int step) const {
    return std::any_of(items_.begin(), items_.end(), [&](const Item& item) {
      return item.number == number && item.step == step;
    });
  }

  // REQUIRES (here and below): the item exists.
  [[nodiscard]] T& find(std::size_t number, int step) {
    return position(number, step)->thing;
  }
  T take(std::size_t number, int step) {
    const auto item = position(number, step);
    T thing = std::move(item->thing);
    if (item != items_.end() - 1) *item = std::move(items_.back());
    items_.pop_back();
    return thing;
  }

  void clear() { items_.clear(); }
  [[nodiscard]] bool empty() const { return items_.empty(); }

 private:
  struct Item {
    std::size_t number;
    int step;
    T thing;
  };

  auto position(std::size_t number, int step) {
    const auto item =
        std::find_if(items_.begin(), items_.end(), [&](const Item& candidate) {
          return candidate.number == number && candidate.step == step;
        });
    CHIMERA_CHECK(item != items_.end(), "asked for what was not put aside");
    return item;
  }

  std::vector<Item> items_;
};

}  // namespace chimera
