#include <algorithm>

#include "chimera/base/text.h"
#include "chimera/schedule/orders/orders.h"

namespace chimera {
namespace {

// The hint "use 4 or 8", or "use 4" if no legal value is lower.
std::string nearest_multiples(int value, int factor) {
  const int below = value / factor * factor;
  const std::string above = std::to_string(below + factor);
  return below > 0 ? "use " + std::to_string(below) + " or " + above
                   : "use " + above;
}

// Every legal number of pipes for this depth, for the hint.
std::string legal_pipes(int depth) {
  std::string text;
  for (int f = 1; f <= depth / 2; ++f) {
    if (depth / 2 % f != 0) continue;
    text += (text.empty() ? "use " : ", ") + std::to_string(2 * f);
  }
  return text;
}

}  // namespace

Diagnostic needs_depth_multiple(const Layout& layout, int factor) {
  return {.code = "E202",
          .found = "depth = " + std::to_string(layout.depth),
          .needed = factor == 2
                        ? "must be even"
                        : "must be a multiple of " + std::to_string(factor),
          .hint = nearest_multiples(layout.depth, factor)};
}

Diagnostics needs_opposite_pipes(const Layout& layout) {
  const int D = layout.depth;
  const int f = layout.pipes / 2;
  const std::string found = "pipes = " + std::to_string(layout.pipes);
  if (layout.pipes % 2 != 0 || f < 1) {
    return {{.code = "E204",
             .found = found,
             .needed = "must be even and at least 2",
             .hint = D % 2 == 0 ? legal_pipes(D) : "use 2"}};
  }
  if (f == 1 || (D % 2 == 0 && (D / 2) % f == 0)) return {};
  return {{.code = "E204",
           .found = found,
           .needed = "must be twice a divisor of depth/2 = " + number(D / 2.0),
           .hint = D % 2 == 0 ? legal_pipes(D) : "use 2"}};
}

Diagnostic needs_micros_multiple(const Layout& layout, int factor,
                                 const std::string& of) {
  return {.code = "E203",
          .found = "micros = " + std::to_string(layout.micros),
          .needed = "must be a multiple of " + of,
          .hint = nearest_multiples(layout.micros, factor)};
}

Diagnostic needs_micros_at_least(const Layout& layout, int least,
                                 const std::string& formula) {
  return {
      .code = "E203",
      .found = "micros = " + std::to_string(layout.micros),
      .needed = "must be at least " + formula + " = " + std::to_string(least),
      .hint = "use " + std::to_string(least) + " or more"};
}

}  // namespace chimera
