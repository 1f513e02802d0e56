// Layouts of eight ranks on links with two levels.
#pragma once

#include <vector>

#include "chimera/schedule/costs.h"
#include "chimera/schedule/scheme.h"

namespace chimera {

struct TwoLevels {
  ScheduleSpec spec;
  int node_ranks = 1;
};

// Layouts with messages across nodes and sums within pairs of nodes, with sums
// across nodes, with sums that reduce within nodes first, and with copies that
// lie differently on nodes.
inline std::vector<TwoLevels> two_level_layouts() {
  return {
      {{.scheme = "chimera", .depth = 8, .micros = 8}, 4},
      {{.scheme = "1f1b", .depth = 8, .micros = 8}, 2},
      {{.scheme = "chimera", .depth = 4, .micros = 8, .width = 2}, 4},
      {{.scheme = "zb-h1", .depth = 4, .micros = 8, .width = 2}, 2},
      {{.scheme = "chimera", .depth = 2, .micros = 8, .width = 4}, 4},
      {{.scheme = "1f1b", .depth = 4, .micros = 8, .width = 2}, 3},
  };
}

// A forward takes `action`, the whole backward twice that; a message 15 % of
// it between nodes and 3 % within, a sum over two nodes about as long as it.
inline Costs two_level_costs(const Schedule& schedule, int node_ranks,
                             double action) {
  Costs costs =
      uniform_costs(schedule, {.forward = action, .backward = 2 * action});
  costs.sum_time.reset();
  costs.latency = action / 10;
  costs.time_per_byte = 1e-6 * action;
  costs.node = {.ranks = node_ranks,
                .latency = action / 50,
                .time_per_byte = 2e-7 * action};
  for (StageCosts& stage : costs.stages) {
    stage.boundary_bytes = 5e4;
    stage.gradient_bytes = 1e6;
  }
  return costs;
}

}  // namespace chimera
