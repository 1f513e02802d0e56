// The processors of this process.
#pragma once

namespace chimera {

// Number of cores that this process may run on, given taskset, a launcher's
// binding or a container.
[[nodiscard]] int usable_cores();

}  // namespace chimera
