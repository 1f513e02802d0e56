#include "chimera/report/palette.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

namespace chimera {
namespace {

const std::vector<Op> kOps = {Op::kF, Op::kR, Op::kB, Op::kW, Op::kU, Op::kG};

double luminance(Colour colour) {
  const auto linear = [](int value) {
    const double v = value / 255.0;
    return v <= 0.03928 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(colour.red) + 0.7152 * linear(colour.green) +
         0.0722 * linear(colour.blue);
}

// The contrast ratio that the web accessibility guidelines (WCAG 2) define.
double contrast(Colour a, Colour b) {
  const double light = std::max(luminance(a), luminance(b));
  const double dark = std::min(luminance(a), luminance(b));
  return (light + 0.05) / (dark + 0.05);
}

// The RGB value a terminal shows for one of its colours 16..255.
Colour shown(int index) {
  const auto level = [](int step) {
    return static_cast<std::uint8_t>(step == 0 ? 0 : 55 + 40 * step);
  };
  if (index >= 232) {
    const auto grey = static_cast<std::uint8_t>(8 + 10 * (index - 232));
    return {grey, grey, grey};
  }
  const int cube = index - 16;
  return {level(cube / 36), level(cube / 6 % 6), level(cube % 6)};
}

TEST(Palette, EveryLabelIsReadable) {
  for (int pipe = 0; pipe < kNumHues; ++pipe) {
    for (const Op op : kOps) {
      const Paint paint = op_paint(op, pipe);
      EXPECT_GE(contrast(paint.fill, paint.ink), 4.5)
          << op_name(op) << " of pipe " << pipe;
      EXPECT_GE(contrast(shown(terminal_colour(paint.fill)),
                         shown(terminal_colour(paint.ink))),
                4.5)
          << op_name(op) << " of pipe " << pipe << " in a terminal";
    }
  }
}

TEST(Palette, PipesAndDirectionsDiffer) {
  std::set<std::string> fills;
  std::set<int> terminal_fills;
  for (int pipe = 0; pipe < kNumHues; ++pipe) {
    for (const Op op : {Op::kF, Op::kB, Op::kW}) {
      fills.insert(hex(op_paint(op, pipe).fill));
      terminal_fills.insert(terminal_colour(op_paint(op, pipe).fill));
    }
  }
  EXPECT_EQ(fills.size(), 3u * kNumHues);
  EXPECT_EQ(terminal_fills.size(), 3u * kNumHues);
}

TEST(Palette, ForwardIsLighterThanBackwardInGreyPrint) {
  for (int pipe = 0; pipe < kNumHues; ++pipe) {
    const double forward = luminance(op_paint(Op::kF, pipe).fill);
    const double weight = luminance(op_paint(Op::kW, pipe).fill);
    const double backward = luminance(op_paint(Op::kB, pipe).fill);
    EXPECT_GT(forward, weight + 0.1) << pipe;
    EXPECT_GT(weight, backward + 0.1) << pipe;
  }
}

TEST(Palette, TerminalColoursAreTheNearest) {
  EXPECT_EQ(terminal_colour({255, 255, 255}), 231);
  EXPECT_EQ(terminal_colour({0, 95, 175}), 25);
  EXPECT_EQ(terminal_colour({80, 80, 80}), 239);
  EXPECT_EQ(terminal_colour({0, 0, 0}), 16);
}

TEST(Palette, MorePipesThanHuesRepeat) {
  EXPECT_EQ(op_paint(Op::kB, kNumHues + 1), op_paint(Op::kB, 1));
}

TEST(Palette, ChunksOfAPipeDiffer) {
  std::set<std::string> fills;
  for (int pipe = 0; pipe < 2; ++pipe) {
    for (int chunk = 0; chunk < 3; ++chunk) {
      for (const Op op : {Op::kF, Op::kW, Op::kB}) {
        fills.insert(hex(op_paint(op, pipe, chunk).fill));
      }
    }
  }
  EXPECT_EQ(fills.size(), 2u * 3 * 3);
  EXPECT_EQ(op_paint(Op::kU, 0, 1), op_paint(Op::kU, 0));
}

}  // namespace
}  // namespace chimera
