// A small schedule of any scheme, for tests that try all of them.
#pragma once

#include <string>

#include "chimera/schedule/scheme.h"

namespace chimera::testing {

// Four workers and eight micro-batches, which every scheme accepts.
inline Schedule small_schedule(const Scheme& scheme, int width) {
  return make_schedule({.scheme = std::string(scheme.name),
                        .depth = 4,
                        .micros = 8,
                        .width = width})
      .value();
}

}  // namespace chimera::testing
