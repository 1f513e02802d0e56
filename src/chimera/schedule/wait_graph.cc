#include "chimera/schedule/wait_graph.h"

#include <algorithm>

namespace chimera {

// Kahn's algorithm, with the successor lists in one array.
std::vector<int> WaitGraph::unmet_waits() const {
  std::vector<int> unmet(nodes_, 0);
  std::vector<int> begin(nodes_ + 1, 0);
  for (const Wait& wait : waits_) {
    ++unmet[wait.second];
    ++begin[wait.first + 1];
  }
  for (int node = 0; node < nodes_; ++node) begin[node + 1] += begin[node];
  std::vector<int> successors(waits_.size());
  std::vector<int> next(begin.begin(), begin.end() - 1);
  for (const Wait& wait : waits_) {
    successors[next[wait.first]++] = wait.second;
  }
  std::vector<int> finished;
  for (int node = 0; node < nodes_; ++node) {
    if (unmet[node] == 0) finished.push_back(node);
  }
  while (!finished.empty()) {
    const int node = finished.back();
    finished.pop_back();
    for (int i = begin[node]; i < begin[node + 1]; ++i) {
      if (--unmet[successors[i]] == 0) finished.push_back(successors[i]);
    }
  }
  return unmet;
}

std::vector<int> WaitGraph::find_cycle() const {
  const std::vector<int> unmet = unmet_waits();
  // Every node that never finishes waits for another such node, so following
  // these waits must reach a node a second time.
  std::vector<int> waits_for(nodes_, -1);
  int node = -1;
  for (const Wait& wait : waits_) {
    if (unmet[wait.first] > 0 && unmet[wait.second] > 0) {
      waits_for[wait.second] = wait.first;
      node = wait.second;
    }
  }
  if (node == -1) return {};
  std::vector<bool> seen(nodes_, false);
  while (!seen[node]) {
    seen[node] = true;
    node = waits_for[node];
  }
  std::vector<int> cycle;
  const int start = node;
  do {
    cycle.push_back(node);
    node = waits_for[node];
  } while (node != start);
  std::reverse(cycle.begin(), cycle.end());
  return cycle;
}

}  // namespace chimera
