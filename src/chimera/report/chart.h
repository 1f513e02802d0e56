// What a drawing of a trace shows, before it is known where: a row of blocks
// per worker, bars for its gradient sums, and whatever a legend must explain.
// Text and SVG both draw a Chart, so they cannot disagree on what is shown.
#pragma once

#include <array>
#include <vector>

#include "chimera/trace/trace.h"

namespace chimera {

// Events of one worker that do not overlap, in order of start.
using Lane = std::vector<const Event*>;

struct ChartRow {
  Lane blocks;             // compute that takes time
  std::vector<Lane> sums;  // gradient sums that take time; sums that overlap
                           // lie in different lanes
};

// Which way a pipe goes, and what goes through it.
struct PipeRoute {
  int first_worker = kNone;  // holds the lowest stage
  int last_worker = kNone;   // holds the highest stage
  std::vector<int> micros;   // ascending, each once
};

struct Chart {
  double end = 0;       // the right edge: the makespan
  double shortest = 0;  // of all blocks
  // The lower quartile of all blocks' durations: what a scale must show well.
  // Unlike the shortest it is not at the mercy of one stray event.
  double typical = 0;
  size_t num_blocks = 0;
  size_t num_lanes = 0;  // of the row that has the most sums at once
  bool halves = false;   // backwards run in two parts
  std::array<bool, kNumOps> shows{};  // [op]: some block or sum has it
  std::vector<ChartRow> rows;         // [worker]
  std::vector<PipeRoute> pipes;       // [pipe]

  [[nodiscard]] bool shows_op(Op op) const {
    return shows[static_cast<size_t>(op)];
  }
};

// The chart points into `trace`, which must outlive it.
// Complexity: linear in events (times the sums of a worker that overlap).
[[nodiscard]] Chart make_chart(const Trace& trace);
Chart make_chart(Trace&&) = delete;

}  // namespace chimera
