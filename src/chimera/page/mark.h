// Something that happened at a step and is worth a mark on the curves.
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

// A run can warn at every step; a page shows the first of each source.
inline constexpr std::size_t kMostMarks = 200;

}  // namespace chimera
