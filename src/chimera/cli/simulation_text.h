// The result of a simulation as text and as the contract's JSON.
#pragma once

#include <optional>
#include <string>

#include "chimera/schedule/schedule.h"
#include "chimera/simulate/simulate.h"

namespace chimera {

// `cap` is what the bound was taken for.
[[nodiscard]] std::string simulation_text(const Schedule& schedule,
                                          const Simulation& simulation,
                                          std::optional<double> cap);
[[nodiscard]] std::string simulation_json(const Simulation& simulation);

}  // namespace chimera
