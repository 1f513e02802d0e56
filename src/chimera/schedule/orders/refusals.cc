#include <algorithm>

#include "chimera/schedule/orders/orders.h"

namespace chimera {
namespace {

// "use 4 or 8", or "use 4" when nothing legal lies below.
std::string nearest_multiples(int value, int factor) {
  const int below = value / factor * factor;
  const std::string above = std::to_string(below + factor);
  return below > 0 ? "use " + std::to_string(below) + " or " + above
                   : "use " + above;
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
