#include "chimera/schedule/placements/placements.h"

namespace chimera {

Placement opposite(const Layout& layout) {
  const int D = layout.depth;
  const int f = layout.pipes / 2;
  const std::vector<int> base = one_way(layout).worker_of[0];
  Placement placement{D, {}};
  for (int pipe = 0; pipe < 2 * f; ++pipe) {
    const int shift = pipe % f * (D / f);
    std::vector<int> worker_of;
    for (const int worker : base) {
      const int mirrored = pipe < f ? worker : D - 1 - worker;
      worker_of.push_back((shift + mirrored) % D);
    }
    placement.worker_of.push_back(worker_of);
  }
  return placement;
}

}  // namespace chimera
