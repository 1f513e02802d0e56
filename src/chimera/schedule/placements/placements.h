// Places stages on workers: free functions from a layout to a placement.
//   D workers, v chunks (stages of one pipe per worker), 2f pipes
#pragma once

#include "chimera/schedule/scheme.h"

namespace chimera {

// One pipe of v*D stages:
//   linear  stage s on worker s                           (v = 1)
//   loop    stage s on worker s mod D
//   wave    down the workers, up again, down again, ...   (vee: v = 2)
[[nodiscard]] Placement one_way(const Layout& layout);

// 2f pipes: f go down, each starting D/f workers after the one before, then f
// go up over the mirrored workers (Li & Hoefler, section 3.6). With f = 1,
// worker w holds stages w and D-1-w.
[[nodiscard]] Placement opposite(const Layout& layout);

}  // namespace chimera
