// machine.json of a run directory: where a run ran, for its page.
#pragma once

#include <string>

#include "chimera/run/run.h"

namespace chimera {

// {"version":..,"started":..,"hosts":[{"name","cores","memory_bytes","ranks"}]}
// Cores and memory of other hosts than this one are not known and left out.
[[nodiscard]] std::string machine_json(const RunStart& start);

}  // namespace chimera
