// Prints the result of a simulation as text and as JSON.
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
  std::optional<double> cap;       // cap of the bound
  std::vector<double> peak_bytes;  // [worker]; empty = unknown
  bool in_seconds = false;         // false: times have no unit
  std::optional<double> paper;     // step time by the paper's formula
  // With jitter: the mean makespan, the mean period if there are several steps,
  // and the jitter itself.
  std::optional<double> expected;
  std::optional<double> expected_period;
  double jitter = 0;
};

[[nodiscard]] std::string simulation_text(const SimulationView& view);
[[nodiscard]] std::string simulation_json(const SimulationView& view);

}  // namespace chimera
