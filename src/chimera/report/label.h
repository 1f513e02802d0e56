// The words of a drawing: labels of blocks, pipes and ticks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chimera/report/chart.h"

namespace chimera {

// The label of a block: "F0", "B2", "G1", "U". `halves`: backwards run in two
// parts, labelled "b2" each.
[[nodiscard]] std::string event_label(const Action& action, bool halves);

// An op in words: "forward", "input gradient", ...; B is "half backward" if
// `halves`.
[[nodiscard]] std::string_view op_words(Op op, bool halves);

// An event in words: "F micro 2, stage 3, pipe 1, worker 0: 3 - 4".
[[nodiscard]] std::string describe(const Event& event);

// The direction of a pipe: "P0 to P3"; empty for a pipe that ran no forward.
[[nodiscard]] std::string route_words(const PipeRoute& route);

// `values` as ranges: "0-1, 4-5", cut short after a few. REQUIRES: `values`
// ascend.
[[nodiscard]] std::string ranges(const std::vector<int>& values);

struct Tick {
  double time = 0;
  std::string label;
};

// Round times from 0 to `end`, as dense as possible with two characters between
// their labels. `characters`: how many fit into one unit of time.
[[nodiscard]] std::vector<Tick> axis_ticks(double end, double characters);

}  // namespace chimera
