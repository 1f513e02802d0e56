// Draws a simulated schedule with its headline.
#pragma once

#include <string>

#include "chimera/schedule/schedule.h"
#include "chimera/simulate/simulate.h"

namespace chimera {

struct DrawOptions {
  bool svg = false;      // false: text
  bool to_file = false;  // false: fitted to the terminal, if there is one
};

// Example: "chimera, D=4, N=4, 2 pipes: makespan 16, bubble 25.0 %".
[[nodiscard]] std::string headline(const Schedule& schedule,
                                   const Simulation& simulation);

[[nodiscard]] std::string draw(const Schedule& schedule,
                               const Simulation& simulation,
                               const DrawOptions& options);

}  // namespace chimera
