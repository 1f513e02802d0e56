// Ctrl-C: the first one asks for the end after the current step, the second
// ends at once.
#pragma once

namespace chimera {

// From now on SIGINT is only noted; a second one has its default effect.
void catch_interrupt();

[[nodiscard]] bool was_interrupted();

}  // namespace chimera
