// The result of a simulation as text and as the contract's JSON.
#pragma once

#include <string>

#include "chimera/schedule/schedule.h"
#include "chimera/simulate/simulate.h"

namespace chimera {

[[nodiscard]] std::string simulation_text(const Schedule& schedule,
                                          const Simulation& simulation);
[[nodiscard]] std::string simulation_json(const Simulation& simulation);

}  // namespace chimera
