// machine.json of a run directory: the hosts of a run, for its page.
#pragma once

#include <string>

#include "chimera/run/run.h"

namespace chimera {

// The text {"version":..,"started":..,"hosts":[{"name","cores",
// "memory_bytes","ranks"}]}. Cores and memory of hosts other than this one are
// unknown and left out.
[[nodiscard]] std::string machine_json(const RunStart& start);

}  // namespace chimera
