#include "chimera/report/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chimera/report/timeline_for_tests.h"

namespace chimera {
namespace {

using testing::HasSubstr;
using testing::Not;

// The rows of a drawing without worker names, axis and legend.
std::vector<std::string> drawn_rows(const Trace& trace,
                                    const TextOptions& options = {}) {
  const std::string text = draw_text(trace, options);
  std::vector<std::string> rows;
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with("P")) rows.emplace_back(line.substr(3));
  }
  return rows;
}

std::string line_of(const std::string& text, size_t index) {
  const auto lines = split(text, '\n');
  return index < lines.size() ? std::string(lines[index]) : "no such line";
}

Trace chimera4(double unit = 1) {
  return timeline(kChimera4, {.unit = unit, .first_micro_up = 2});
}

Event sum(int group, int worker, double start, double end) {
  return {.action = {.op = Op::kG, .group = group},
          .worker = worker,
          .start = start,
          .end = end};
}

TEST(DrawText, EqualsThePrintedTimeline) {
  EXPECT_EQ(draw_text(chimera4()),
            "t  0     2     4     6     8     10    12    14    16\n"
            "P0 F0 F1 .. F2 B2 -- F3 B3 -- .. B0 -- .. .. B1 --\n"
            "P1 .. F0 F2 F1 F3 .. B2 -- B0 -- B3 -- B1 -- .. ..\n"
            "P2 .. F2 F0 F3 F1 .. B0 -- B2 -- B1 -- B3 -- .. ..\n"
            "P3 F2 F3 .. F0 B0 -- F1 B1 -- .. B2 -- .. .. B3 --\n"
            "F forward  B backward  -- goes on  .. idle\n"
            "pipe 0: P0 to P3, micros 0-1; pipe 1: P3 to P0, micros 2-3\n");
}

TEST(DrawText, TheUnitOfTimeDoesNotMatter) {
  for (const double unit : {0.5, 0.25, 1.0 / 3, 7.0, 0.001}) {
    EXPECT_EQ(drawn_rows(chimera4(unit)), kChimera4) << unit;
  }
  EXPECT_THAT(draw_text(chimera4(0.5)),
              HasSubstr("t  0     1     2     3     4     5     6     7"));
}

TEST(DrawText, WidthsAreTrueWhereDurationsAreNoMultiples) {
  Trace trace = timeline({"F0 F1 .. B0", ".. F0 B0 .."});
  for (Event& event : trace.events) {
    if (event.action.op == Op::kB) event.end = event.start + 1.5;
  }
  EXPECT_EQ(drawn_rows(trace), (std::vector<std::string>{"F0- F1- ... B0---",
                                                         "... F0- B0--- ..."}));
}

TEST(DrawText, LongNumbersWidenTheCells) {
  EXPECT_EQ(drawn_rows(timeline({"F9 F10 .. B9 --"})),
            std::vector<std::string>{"F9  F10 ... B9  ---"});
}

TEST(DrawText, ScalesDownToWholeColumnsPerQuantum) {
  const std::vector<std::string> rows =
      drawn_rows(chimera4(), {.max_columns = 40});
  EXPECT_EQ(rows[0], "F F . F B2- F B3- . B0- . . B1-");
  EXPECT_EQ(drawn_rows(chimera4(), {.max_columns = 20})[0], "FF.FB-FB-.B-..B-");
}

TEST(DrawText, NeverExceedsTheLimit) {
  for (int limit = 13; limit < 60; ++limit) {
    const std::string text = draw_text(chimera4(), {.max_columns = limit});
    for (size_t line = 0; line < 5; ++line) {
      EXPECT_LE(line_of(text, line).size(), limit) << limit;
    }
  }
}

TEST(DrawText, MeasuredTimesAreRoundedAndKeepTheirLabels) {
  Trace trace = chimera4();
  for (size_t i = 0; i < trace.events.size(); ++i) {
    trace.events[i].end -= 0.013 * static_cast<double>(i % 7);
  }
  const std::vector<std::string> rows = drawn_rows(trace);
  EXPECT_THAT(rows[0], testing::MatchesRegex(
                           "F0-* .?F1-* [.]+ F2-* .?B2-* .?F3-* .?B3-* "
                           "[.]+ B0-* [.]+ B1-* ?.?"));
}

TEST(DrawText, EqualBlocksStayEqualWhenRounded) {
  Trace trace;
  trace.workers = 1;
  double start = 0;
  for (int micro = 0; micro < 10; ++micro) {
    trace.events.push_back({.action = {.pipe = 0, .micro = micro},
                            .start = start,
                            .end = start + 1});
    // At five columns a unit, half of the blocks start and end between two
    // columns. The different last gap prevents a common quantum.
    start = (start + 1) + (micro == 8 ? 0.7234 : 0.7);
  }
  const std::string row = drawn_rows(trace)[0];
  for (const std::string_view token : split(row, ' ')) {
    if (token.find('F') == std::string_view::npos) continue;
    EXPECT_EQ(token.substr(token.find('F')).size(), 4u) << token;
  }
}

TEST(DrawText, HalfBackwardsAreLowerCase) {
  Trace trace = timeline({"F0 B0 B0", "F1 B1 B1"});
  for (Event& event : trace.events) {
    if (event.start == 2) event.action.part = 1;
  }
  EXPECT_EQ(drawn_rows(trace),
            (std::vector<std::string>{"F0 b0 b0", "F1 b1 b1"}));
  EXPECT_THAT(draw_text(trace), HasSubstr("b half backward"));
}

TEST(DrawText, SplitBackwardsUpdatesAndRecomputationHaveTheirLetters) {
  const std::vector<std::string> rows = {"F0 R0 I0 W0 U"};
  const std::string text = draw_text(timeline(rows));
  EXPECT_EQ(line_of(text, 1), "P0 " + rows[0]);
  EXPECT_THAT(text, HasSubstr("I input gradient  W weight gradient  U update"));
  EXPECT_THAT(text, Not(HasSubstr("B backward")));
}

TEST(DrawText, FreeUpdatesAndSumsAreNotDrawn) {
  Trace trace = timeline({"F0 B0 U"});
  trace.events.back().end = trace.events.back().start;
  trace.events.push_back(sum(0, 0, 2, 2));
  EXPECT_EQ(draw_text(trace),
            "t  0  1  2\nP0 F0 B0\n"
            "F forward  B backward  -- goes on  .. idle\n");
}

TEST(DrawText, SumsLieBelowTheirWorker) {
  Trace trace = timeline({"F0 B0 -- .. .. ..", ".. F0 B0 -- .. .."});
  trace.events.push_back(sum(1, 0, 3, 5));
  trace.events.push_back(sum(0, 0, 4, 6));
  trace.events.push_back(sum(2, 0, 5, 6));
  EXPECT_EQ(draw_text(trace),
            "t  0  1  2  3  4  5  6\n"
            "P0 F0 B0 -- .. .. ..\n"
            "            =G1== G2\n"
            "               =G0==\n"
            "P1 .. F0 B0 -- .. ..\n"
            "F forward  B backward  -- goes on  .. idle  == gradient sum\n");
}

TEST(DrawText, TheLegendTellsTheStagesOfAWorkerApart) {
  Trace trace = timeline({"F0 F0"});
  EXPECT_THAT(draw_text(trace), Not(HasSubstr("stages")));
  trace.events.back().action.stage = 1;
  EXPECT_THAT(draw_text(trace), HasSubstr("a worker runs 2 stages of a pipe"));
  EXPECT_THAT(draw_text(trace, {.colour = true}),
              HasSubstr("stages of a worker, the lowest first:"));
}

TEST(DrawText, ColourTellsPipesApartAndKeepsTheLayout) {
  const std::string text = draw_text(chimera4(), {.colour = true});
  const std::string row = line_of(text, 1);
  EXPECT_THAT(row, HasSubstr("\x1b[38;5;233;48;5;153mF0\x1b[0m "));  // pipe 0
  EXPECT_THAT(row, HasSubstr("\x1b[38;5;233;48;5;222mF2\x1b[0m "));  // pipe 1
  EXPECT_THAT(row, HasSubstr("\x1b[38;5;231;48;5;25mB0   \x1b[0m "));
  EXPECT_THAT(row, HasSubstr("\x1b[38;5;244m.. \x1b[0m"));
  EXPECT_THAT(draw_text(chimera4()), Not(HasSubstr("\x1b")));
}

TEST(DrawText, ColouredRowsAreAsWideAsPlainOnes) {
  const std::string row = line_of(draw_text(chimera4(), {.colour = true}), 1);
  std::string plain;
  for (size_t i = 0; i < row.size(); ++i) {
    if (row[i] == '\x1b') {
      i = row.find('m', i);
    } else {
      plain += row[i];
    }
  }
  EXPECT_EQ(plain, "P0 F0 F1 .. F2 B2    F3 B3    .. B0    .. .. B1   ");
}

TEST(DrawText, SaysHowManyRowsWereLeftOut) {
  const std::string text = draw_text(chimera4(), {.max_rows = 1});
  EXPECT_THAT(text, HasSubstr("\nP0 F0"));
  EXPECT_THAT(text, Not(HasSubstr("\nP1")));
  EXPECT_THAT(text, HasSubstr("\n... 3 more workers\n"));
}

TEST(DrawText, AnEmptyTraceHasEmptyRows) {
  Trace trace;
  trace.workers = 2;
  EXPECT_THAT(draw_text(trace), HasSubstr("t\nP0\nP1\n"));
}

TEST(DrawText, HugeGapsAreCutToSize) {
  Trace trace = timeline({"F0 B0"});
  trace.events[1].start = 1e12;
  trace.events[1].end = 1e12 + 1;
  EXPECT_LT(draw_text(trace).size(), 200000u);
}

TEST(DrawText, ManyWorkersAreDrawnWithinTheLimits) {
  Trace trace;
  trace.workers = 2048;
  for (int micro = 0; micro < 64; ++micro) {
    for (int worker = 0; worker < trace.workers; ++worker) {
      const Action action = {.op = Op::kF, .pipe = 0, .micro = micro};
      const double start = worker + micro;
      trace.events.push_back({.action = action,
                              .worker = worker,
                              .start = start,
                              .end = start + 1});
    }
  }
  const std::string text =
      draw_text(trace, {.max_columns = 120, .max_rows = 40});
  EXPECT_THAT(text, HasSubstr("\nP39 "));
  EXPECT_THAT(text, HasSubstr("... 2008 more workers"));
  EXPECT_LT(text.size(), 45u * 121);
}

}  // namespace
}  // namespace chimera
