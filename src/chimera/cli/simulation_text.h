// The result of a simulation as text and as the contract's JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chimera/schedule/schedule.h"
#include "chimera/simulate/simulate.h"

namespace chimera {

struct SimulationView {
  const Schedule& schedule;
  const Simulation& simulation;
  std::optional<double> cap;       // what the bound was taken for
  std::vector<double> peak_bytes;  // [worker]; empty where nobody knows
  bool in_seconds = false;         // else times have no unit
  std::optional<double> paper;     // a step by the paper's formula
  // The mean makespan with the jitter of the profile, and this.
  std::optional<double> expected;
  double jitter = 0;
};

[[nodiscard]] std::string simulation_text(const SimulationView& view);
[[nodiscard]] std::string simulation_json(const SimulationView& view);

}  // namespace chimera
