#include "chimera/report/svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <vector>

#include "chimera/report/palette.h"
#include "chimera/report/timeline_for_tests.h"
#include "chimera/report/xml_for_tests.h"

namespace chimera {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string fault(const std::string& xml) { return XmlReader(xml).fault(); }

struct Rect {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
};

// The rectangles inside <g class="group">.
std::vector<XmlElement> elements(const std::string& svg,
                                 const std::string& group) {
  const XmlReader reader(svg);
  std::vector<XmlElement> found;
  for (const XmlElement& element : reader.elements()) {
    if (element.name != "rect" || element.parent == -1) continue;
    const XmlElement& parent = reader.elements()[element.parent];
    if (parent.attribute("class") == group) found.push_back(element);
  }
  return found;
}

std::vector<Rect> rects(const std::string& svg, const std::string& group) {
  std::vector<Rect> found;
  for (const XmlElement& element : elements(svg, group)) {
    const auto value = [&element](const char* key) {
      return std::strtod(element.attribute(key).c_str(), nullptr);
    };
    found.push_back({value("x"), value("y"), value("width"), value("height")});
  }
  return found;
}

Trace chimera4(double unit = 1) {
  return timeline(kChimera4, {.unit = unit, .first_micro_up = 2});
}

void expect_inside(const Rect& block, const std::vector<Rect>& rows) {
  constexpr double kHalfDigit = 0.0051;
  int holders = 0;
  for (const Rect& row : rows) {
    if (std::abs(row.y - block.y) > kHalfDigit) continue;
    ++holders;
    EXPECT_GE(block.x, row.x - kHalfDigit);
    EXPECT_LE(block.x + block.width, row.x + row.width + kHalfDigit);
    EXPECT_EQ(block.height, row.height);
  }
  EXPECT_EQ(holders, 1) << "a block at y = " << block.y << " is in no row";
}

void expect_apart(const std::vector<Rect>& blocks) {
  std::map<double, double> right;  // [y]: right edge of the row's last block
  for (const Rect& block : blocks) {
    EXPECT_GT(block.width, 0);
    const auto [row, is_first] = right.try_emplace(block.y, 0);
    EXPECT_GE(block.x, row->second - 1e-6);
    row->second = block.x + block.width;
  }
}

TEST(DrawSvg, IsWellFormedAndAccessible) {
  const std::string svg = draw_svg(chimera4(), {.title = "chimera, D=4"});
  EXPECT_EQ(fault(svg), "");
  EXPECT_THAT(svg, HasSubstr("xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_THAT(svg, HasSubstr("viewBox=\"0 0 "));
  EXPECT_THAT(svg, HasSubstr("role=\"img\""));
  EXPECT_THAT(svg, HasSubstr("<title>chimera, D=4</title>"));
}

TEST(DrawSvg, TheCheckOfWellFormednessFindsFaults) {
  EXPECT_EQ(fault("<svg><g a=\"1\"><rect/></g>x &amp; y</svg>"), "");
  EXPECT_NE(fault("<svg><g></svg></g>"), "");
  EXPECT_NE(fault("<svg>"), "");
  EXPECT_NE(fault("<svg>a & b</svg>"), "");
  EXPECT_NE(fault("<svg a=b></svg>"), "");
}

void expect_sound(const Trace& trace) {
  const std::string svg = draw_svg(trace);
  const std::vector<Rect> blocks = rects(svg, "blocks");
  const std::vector<Rect> rows = rects(svg, "idle");
  EXPECT_EQ(rows.size(), static_cast<size_t>(trace.workers));
  EXPECT_EQ(blocks.size(), trace.events.size());
  for (const Rect& block : blocks) expect_inside(block, rows);
  expect_apart(blocks);
}

TEST(DrawSvg, BlocksLieInTheirRowsAndApart) {
  for (const double unit : {1.0, 1.0 / 3, 0.001, 1e5}) {
    expect_sound(chimera4(unit));
  }
}

TEST(DrawSvg, BlocksStayApartWhereCoordinatesAreRounded) {
  // A seventh and an eleventh of the plot's width have more than two decimals.
  expect_sound(timeline({"F0 F1 F2 F3 F4 F5 F6"}));
  expect_sound(timeline({"F0 F1 F2 F3 F4 F5 F6 F7 F8 F9 B9"}));
}

TEST(DrawSvg, WidthsAreTrueToTime) {
  const std::vector<Rect> blocks = rects(draw_svg(chimera4()), "blocks");
  const double unit = rects(draw_svg(chimera4()), "idle")[0].width / 16;
  // The first worker's row: F0 F1 F2 B2 ...
  EXPECT_NEAR(blocks[0].width, unit, 0.011);
  EXPECT_NEAR(blocks[2].x - blocks[0].x, 3 * unit, 0.011);
  EXPECT_NEAR(blocks[3].width, 2 * unit, 0.011);
}

TEST(DrawSvg, LegendNamesWhatOccurs) {
  const std::string svg = draw_svg(chimera4());
  EXPECT_THAT(svg, HasSubstr(">pipe 0 (P0 to P3)<"));
  EXPECT_THAT(svg, HasSubstr(">pipe 1 (P3 to P0)<"));
  EXPECT_THAT(svg, HasSubstr(">forward<"));
  EXPECT_THAT(svg, HasSubstr(">idle<"));
  EXPECT_THAT(svg, Not(HasSubstr("weight gradient")));
  EXPECT_THAT(svg, Not(HasSubstr("gradient sum")));
  const std::string split_svg = draw_svg(timeline({"F0 I0 W0"}));
  EXPECT_THAT(split_svg, HasSubstr(">weight gradient<"));
  EXPECT_THAT(split_svg, Not(HasSubstr("pipe 0 (")));
  const std::string mixed_svg = draw_svg(timeline({"F0 I0 W0 F1 B1 --"}));
  EXPECT_THAT(mixed_svg, HasSubstr(">backward, input gradient<"));
}

TEST(DrawSvg, PipesAndDirectionsHaveTheirColours) {
  std::map<std::string, int> blocks;  // [fill]: number of blocks
  for (const XmlElement& block : elements(draw_svg(chimera4()), "blocks")) {
    ++blocks[block.attribute("fill")];
  }
  EXPECT_EQ(
      blocks,
      (std::map<std::string, int>{
          {"#a9d2f0", 8}, {"#005fa8", 8}, {"#fdd590", 8}, {"#c05600", 8}}));
}

TEST(DrawSvg, RecomputationIsHatched) {
  const std::string svg = draw_svg(timeline({"F0 R0 B0 --"}));
  EXPECT_EQ(fault(svg), "");
  EXPECT_THAT(svg, HasSubstr("<pattern id=\"recompute0\""));
  EXPECT_THAT(svg, HasSubstr("fill=\"url(#recompute0)\"><title>R micro 0"));
  EXPECT_THAT(draw_svg(chimera4()), Not(HasSubstr("<pattern")));
}

TEST(DrawSvg, SumsLieBelowTheRowAndNeverOverlap) {
  Trace trace = chimera4();
  for (const auto& [group, start] : std::map<int, double>{{3, 12}, {0, 13}}) {
    trace.events.push_back({.action = {.op = Op::kG, .group = group},
                            .worker = 0,
                            .start = start,
                            .end = start + 2});
  }
  const std::string svg = draw_svg(trace);
  EXPECT_EQ(fault(svg), "");
  const std::vector<Rect> sums = rects(svg, "sums");
  const std::vector<Rect> rows = rects(svg, "idle");
  ASSERT_EQ(sums.size(), 2u);
  EXPECT_GE(sums[0].y, rows[0].y + rows[0].height);
  EXPECT_GE(sums[1].y, sums[0].y + sums[0].height);
  EXPECT_LE(sums[1].y + sums[1].height, rows[1].y);
  EXPECT_THAT(svg, HasSubstr(">G3<"));
}

TEST(DrawSvg, MessagesOnlyOnDemand) {
  Trace trace = chimera4();
  const Action send = {
      .op = Op::kSF, .pipe = 0, .stage = 0, .micro = 0, .peer = 1};
  trace.events.push_back({.action = send, .worker = 0, .start = 1, .end = 1.5});
  EXPECT_THAT(draw_svg(trace), Not(HasSubstr("messages")));
  const std::string svg = draw_svg(trace, {.messages = true});
  EXPECT_EQ(fault(svg), "");
  EXPECT_THAT(svg, HasSubstr("<g class=\"messages\""));
}

TEST(DrawSvg, TitleIsEscaped) {
  const std::string svg =
      draw_svg(chimera4(), {.title = "a < b & \"c\" \x01\xff</svg>"});
  EXPECT_EQ(fault(svg), "");
  EXPECT_THAT(svg, HasSubstr("a &lt; b &amp; &quot;c&quot; ??&lt;/svg&gt;"));
}

TEST(DrawSvg, ToolTipsOnlyWhereBlocksAreFew) {
  EXPECT_THAT(
      draw_svg(chimera4()),
      HasSubstr("<title>F micro 2, stage 3, pipe 1, worker 0: 3 - 4</title>"));
  Trace trace;
  trace.workers = 100;
  for (int i = 0; i < 6000; ++i) {
    trace.events.push_back({.action = {.pipe = 0, .micro = i / 100},
                            .worker = i % 100,
                            .start = i / 100.0,
                            .end = i / 100.0 + 1});
  }
  const std::string svg = draw_svg(trace);
  EXPECT_EQ(rects(svg, "blocks").size(), 6000u);
  EXPECT_THAT(svg, Not(HasSubstr("<title>F")));
}

TEST(DrawSvg, CoordinatesHaveAtMostTwoDecimals) {
  const XmlReader reader(draw_svg(timeline({"F0 F1 F2 F3 F4 F5 F6"})));
  int num_fractions = 0;
  for (const XmlElement& element : reader.elements()) {
    for (const auto& [key, value] : element.attributes) {
      const size_t point = value.find('.');
      if (point == std::string::npos || value.starts_with("http")) continue;
      ++num_fractions;
      EXPECT_LE(value.size() - point, 3u) << key << " = " << value;
    }
  }
  EXPECT_GT(num_fractions, 10);
}

TEST(DrawSvg, AnEmptyTraceIsStillAPicture) {
  EXPECT_EQ(fault(draw_svg(Trace{})), "");
}

// Worker 0 holds stages 0 and 3 of a pipe, worker 1 stages 1 and 2.
TEST(Svg, ChunksHaveShadesAndALegend) {
  Trace trace{.workers = 2};
  const auto add = [&](int worker, int stage, double start) {
    trace.events.push_back(
        {.action = {.op = Op::kF, .pipe = 0, .stage = stage, .micro = 0},
         .worker = worker,
         .start = start,
         .end = start + 1});
  };
  add(0, 0, 0);
  add(1, 1, 1);
  EXPECT_THAT(draw_svg(trace), Not(HasSubstr("stages of a worker")));
  add(1, 2, 2);
  add(0, 3, 3);
  const std::string svg = draw_svg(trace);
  EXPECT_THAT(svg, HasSubstr("stages of a worker"));
  for (int chunk = 0; chunk < 2; ++chunk) {
    EXPECT_THAT(svg, HasSubstr(hex(op_paint(Op::kF, 0, chunk).fill)));
  }
}

TEST(Svg, AGapPartsTwoDrawings) {
  Trace trace{.workers = 4};
  for (int worker = 0; worker < 4; ++worker) {
    trace.events.push_back(
        {.action = {.op = Op::kF, .pipe = 0, .stage = worker, .micro = 0},
         .worker = worker,
         .start = 0,
         .end = worker < 2 ? 1.0 : 4.0});
  }
  const auto height = [](const std::string& svg) {
    return std::stod(svg.substr(svg.find("height=\"") + 8));
  };
  const std::string parted = draw_svg(trace, {.gap_before = 2});
  EXPECT_GT(height(parted), height(draw_svg(trace)));
  const std::vector<Rect> idle = rects(parted, "idle");
  ASSERT_EQ(idle.size(), 4);
  // The first drawing ends with its own last event.
  EXPECT_NEAR(4 * idle[1].width, idle[2].width, 0.1);
}

}  // namespace
}  // namespace chimera
