// The colours of both drawings. A pipe has a hue, and its chunks have variants
// of it. An op has a shade: forwards are light, backwards dark, weight halves
// between them. The direction of a pipe thus remains visible in a grey print.
// The first hues (blue and orange, then green and purple, after Okabe and Ito)
// are distinct for colour-blind readers.
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

// A background colour and the colour of text on it.
struct Paint {
  Colour fill;
  Colour ink;

  bool operator==(const Paint&) const = default;
};

// Number of hues; pipes beyond it repeat them.
inline constexpr int kNumHues = 8;

inline constexpr Colour kIdle = {0xea, 0xea, 0xea};
inline constexpr Colour kInk = {0x14, 0x14, 0x14};

// The paint of a compute block or a sum. `chunk`: index of the stage among
// those of the pipe that its worker holds; the later ones are redder. Updates
// and sums belong to no pipe and ignore both.
[[nodiscard]] Paint op_paint(Op op, int pipe, int chunk = 0);

// The colour as "#0072b2".
[[nodiscard]] std::string hex(Colour colour);

// The nearest of a terminal's colours 16 to 255. The first 16 are left out
// because users redefine them.
[[nodiscard]] int terminal_colour(Colour colour);

}  // namespace chimera
