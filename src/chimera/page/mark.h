// An incident at a step that is marked on the curves.
#pragma once

#include <string>
#include <vector>

namespace chimera {

struct Mark {
  int step = 0;
  // save, resume, replan, warning, fault or end.
  std::string kind;
  std::string text;

  bool operator==(const Mark&) const = default;
};

// Limit per source. A run can warn at every step; a page shows only the first
// ones.
inline constexpr std::size_t kMostMarks = 200;

}  // namespace chimera
