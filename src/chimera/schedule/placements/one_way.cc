#include "chimera/schedule/placements/placements.h"

namespace chimera {

Placement one_way(const Layout& layout) {
  const int D = layout.depth;
  const bool turns =
      layout.shape == Shape::kVee || layout.shape == Shape::kWave;
  std::vector<int> worker_of;
  for (int stage = 0; stage < layout.chunks * D; ++stage) {
    const bool upward = turns && (stage / D) % 2 == 1;
    worker_of.push_back(upward ? D - 1 - stage % D : stage % D);
  }
  return {D, {worker_of}};
}

}  // namespace chimera
