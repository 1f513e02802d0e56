// The words of a drawing: what a block, a pipe or a tick is called.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chimera/report/chart.h"

namespace chimera {

// "F0", "B2", "G1", "U". `halves`: backwards run in two parts, each "b2".
[[nodiscard]] std::string event_label(const Action& action, bool halves);

// "forward", "input gradient", ...; "half backward" where `halves`.
[[nodiscard]] std::string_view op_words(Op op, bool halves);

// "F micro 2, stage 3, pipe 1, worker 0: 3 - 4".
[[nodiscard]] std::string describe(const Event& event);

// "P0 to P3"; empty for a pipe that ran no forward.
[[nodiscard]] std::string route_words(const PipeRoute& route);

// "0-1, 4-5", cut short after a few ranges. REQUIRES: ascending.
[[nodiscard]] std::string ranges(const std::vector<int>& values);

struct Tick {
  double time = 0;
  std::string label;
};

// Round times from 0 to `end`, as close as their labels allow with two
// characters between them. `characters`: how many fit into one unit of time.
[[nodiscard]] std::vector<Tick> axis_ticks(double end, double characters);

}  // namespace chimera
