#include "chimera/report/palette.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace chimera {

namespace {

struct Hue {
  Colour light;
  Colour middle;
  Colour dark;
};

constexpr std::array<Hue, kNumHues> kHues = {{
    {{0xa9, 0xd2, 0xf0}, {0x5f, 0xaf, 0xe0}, {0x00, 0x5f, 0xa8}},  // blue
    {{0xfd, 0xd5, 0x90}, {0xf0, 0xa0, 0x30}, {0xc0, 0x56, 0x00}},  // orange
    {{0xb0, 0xe0, 0xc0}, {0x5a, 0xbb, 0x90}, {0x00, 0x78, 0x5a}},  // green
    {{0xf2, 0xc4, 0xdc}, {0xd7, 0x87, 0xb3}, {0x96, 0x38, 0x78}},  // purple
    {{0xf4, 0xee, 0xa0}, {0xd7, 0xcc, 0x4a}, {0x6e, 0x66, 0x00}},  // olive
    {{0xd2, 0xcb, 0xf2}, {0xa4, 0x96, 0xdc}, {0x58, 0x42, 0xa8}},  // violet
    {{0xe4, 0xcf, 0xbc}, {0xc0, 0x94, 0x70}, {0x74, 0x42, 0x1c}},  // brown
    {{0xb0, 0xf0, 0xf0}, {0x5c, 0xc8, 0xd4}, {0x00, 0x66, 0x74}},  // cyan
}};

constexpr Colour kWhite = {0xff, 0xff, 0xff};
constexpr Colour kUpdate = {0x50, 0x50, 0x50};
constexpr Colour kSum = {0xb4, 0xb4, 0xb4};

Colour mix(Colour a, Colour b) {
  const auto half = [](int x, int y) {
    return static_cast<std::uint8_t>((x + y) / 2);
  };
  return {half(a.red, b.red), half(a.green, b.green), half(a.blue, b.blue)};
}

// `colour` with this share of red in it.
Colour redder(Colour colour, double share) {
  constexpr Colour kRed = {0xd0, 0x30, 0x90};
  const auto between = [share](int from, int to) {
    return static_cast<std::uint8_t>(from + share * (to - from));
  };
  return {between(colour.red, kRed.red), between(colour.green, kRed.green),
          between(colour.blue, kRed.blue)};
}

Hue hue_of(int pipe, int chunk) {
  const Hue& hue = kHues[std::max(pipe, 0) % kNumHues];
  const double share = std::min(0.6, 0.3 * chunk);
  return {redder(hue.light, share), redder(hue.middle, share),
          redder(hue.dark, share)};
}

int squared_distance(Colour a, Colour b) {
  const int red = a.red - b.red;
  const int green = a.green - b.green;
  const int blue = a.blue - b.blue;
  return red * red + green * green + blue * blue;
}

// Terminal colours 16..231 are a cube of these levels; 232..255 are greys.
constexpr std::array<std::uint8_t, 6> kLevels = {0, 95, 135, 175, 215, 255};

int nearest_level(std::uint8_t value) {
  const auto nearer = [value](int a, int b) {
    return std::abs(a - value) < std::abs(b - value);
  };
  return static_cast<int>(
      std::min_element(kLevels.begin(), kLevels.end(), nearer) -
      kLevels.begin());
}

}  // namespace

Paint op_paint(Op op, int pipe, int chunk) {
  const Hue hue = hue_of(pipe, chunk);
  switch (op) {
    case Op::kF:
      return {hue.light, kInk};
    case Op::kR:
      return {mix(hue.light, kSum), kInk};
    case Op::kW:
      return {hue.middle, kInk};
    case Op::kU:
      return {kUpdate, kWhite};
    case Op::kG:
      return {kSum, kInk};
    default:
      return {hue.dark, kWhite};
  }
}

std::string hex(Colour colour) {
  return fmt::format("#{:02x}{:02x}{:02x}", colour.red, colour.green,
                     colour.blue);
}

int terminal_colour(Colour colour) {
  const int red = nearest_level(colour.red);
  const int green = nearest_level(colour.green);
  const int blue = nearest_level(colour.blue);
  const Colour cube = {kLevels[red], kLevels[green], kLevels[blue]};
  const int mean = (colour.red + colour.green + colour.blue) / 3;
  const int ramp = std::clamp((mean - 3) / 10, 0, 23);
  const auto level = static_cast<std::uint8_t>(8 + 10 * ramp);
  const Colour grey = {level, level, level};
  if (squared_distance(colour, grey) < squared_distance(colour, cube)) {
    return 232 + ramp;
  }
  return 16 + 36 * red + 6 * green + blue;
}

}  // namespace chimera
