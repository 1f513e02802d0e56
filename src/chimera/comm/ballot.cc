#include "chimera/comm/ballot.h"

#include <algorithm>
#include <cmath>

namespace chimera {

bool is_bad(const Ballot& ballot) {
  return ballot.bad_at != Ballot::kNowhere ||
         !std::isfinite(ballot.squared_norm);
}

Ballot merge(const Ballot& a, const Ballot& b) {
  return {.squared_norm = a.squared_norm + b.squared_norm,
          .loss = a.loss + b.loss,
          .stop = a.stop + b.stop,
          .busy_s = a.busy_s + b.busy_s,
          .save = a.save + b.save,
          .written = a.written + b.written,
          .unwritten = a.unwritten + b.unwritten,
          .bad_at = std::min(a.bad_at, b.bad_at)};
}

}  // namespace chimera
