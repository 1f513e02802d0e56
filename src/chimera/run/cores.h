// The processors of this process.
#pragma once

namespace chimera {

// Number of cores that this process may run on: what taskset, a launcher's
// binding or a container has left of the host's.
[[nodiscard]] int usable_cores();

}  // namespace chimera
