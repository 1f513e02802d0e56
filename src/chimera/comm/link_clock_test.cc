#include "chimera/comm/link_clock.h"

#include <gtest/gtest.h>

namespace chimera {
namespace {

// Matching by order rests upon it.
TEST(LinkClock, NothingOvertakesOnALink) {
  LinkClock clock({.latency_s = 0.001, .s_per_byte = 1e-10}, 2);
  const Span first = clock.message(0, 1, 10'000'000);
  for (const std::size_t bytes : {8, 0, 1}) {
    EXPECT_GE(clock.message(0, 1, bytes).end, first.end) << bytes;
  }
  // The way back is a link of its own.
  EXPECT_LT(clock.message(1, 0, 8).end, first.end);
}

}  // namespace
}  // namespace chimera
