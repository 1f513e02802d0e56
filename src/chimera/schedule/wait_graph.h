// A graph of waits, and whether any of them never ends.
#pragma once

#include <cstdint>
#include <vector>

namespace chimera {

class WaitGraph {
 public:
  explicit WaitGraph(int nodes) : nodes_(nodes) {}

  // Adds a node and returns its number.
  int add_node() { return nodes_++; }

  // `second` cannot finish before `first` has.
  void add_wait(int first, int second) { waits_.push_back({first, second}); }

  // One cycle, in which each node waits for the one before it and the first for
  // the last; empty if everything finishes. Linear in nodes and waits.
  [[nodiscard]] std::vector<int> find_cycle() const;

 private:
  struct Wait {
    std::int32_t first;
    std::int32_t second;
  };

  // [node]: how many of the nodes it waits for never finish.
  [[nodiscard]] std::vector<int> unmet_waits() const;

  int nodes_;
  std::vector<Wait> waits_;
};

}  // namespace chimera
