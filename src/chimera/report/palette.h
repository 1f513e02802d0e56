// The colours of both drawings. A pipe is a hue, an op its shade: forwards are
// light, backwards dark, the weight half between them. So direction survives a
// grey print, and the first hues (blue and orange, then green and purple, after
// Okabe and Ito) stay apart for colour-blind eyes.
#pragma once

#include <cstdint>
#include <string>

#include "chimera/schedule/action.h"

namespace chimera {

struct Colour {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;

  bool operator==(const Colour&) const = default;
};

// An area, and what can be read on it.
struct Paint {
  Colour fill;
  Colour ink;

  bool operator==(const Paint&) const = default;
};

// Pipes beyond these repeat the hues.
inline constexpr int kNumHues = 8;

inline constexpr Colour kIdle = {0xea, 0xea, 0xea};
inline constexpr Colour kInk = {0x14, 0x14, 0x14};

// Of a compute block or a sum. Updates and sums belong to no pipe.
[[nodiscard]] Paint op_paint(Op op, int pipe);

// "#0072b2".
[[nodiscard]] std::string hex(Colour colour);

// The nearest of a terminal's 256 colours, leaving out the first 16, which
// users redefine.
[[nodiscard]] int terminal_colour(Colour colour);

}  // namespace chimera
