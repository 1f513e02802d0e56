// The contents of a drawing of a trace, without positions: a row of blocks per
// worker, bars for its gradient sums, and everything a legend must explain.
// Text and SVG both draw a Chart, so they show the same things.
#pragma once

#include <array>
#include <map>
#include <utility>
#include <vector>

#include "chimera/trace/trace.h"

namespace chimera {

// Events of one worker that do not overlap, in order of start.
using Lane = std::vector<const Event*>;

struct ChartRow {
  Lane blocks;  // compute that takes time
  // Gradient sums that take time. Overlapping sums are in different lanes.
  std::vector<Lane> sums;
};

// The direction of a pipe and the micro-batches that go through it.
struct PipeRoute {
  int first_worker = kNone;  // holds the pipe's lowest stage
  int last_worker = kNone;   // holds the pipe's highest stage
  std::vector<int> micros;   // ascending, each once
};

struct Chart {
  double end = 0;       // the right edge: the makespan
  double shortest = 0;  // duration of the shortest block
  // The lower quartile of all blocks' durations: blocks this short must be
  // readable at the chosen scale. Unlike the minimum, one stray event does not
  // move it.
  double typical = 0;
  size_t num_blocks = 0;
  size_t num_lanes = 0;  // most sums that one worker has at once
  bool halves = false;   // backwards run in two parts
  // [op]: true if a block or sum has this op.
  std::array<bool, kNumOps> shows{};
  std::vector<ChartRow> rows;    // [worker]
  std::vector<PipeRoute> pipes;  // [pipe]

  int chunks = 1;  // most stages of one pipe on a worker
  // [worker, pipe]: the stages that it ran, ascending.
  std::map<std::pair<int, int>, std::vector<int>> stages;

  // Index, from 0, of a block's stage among those that its worker holds in its
  // pipe.
  [[nodiscard]] int chunk_of(const Event& block) const;
  [[nodiscard]] bool shows_op(Op op) const {
    return shows[static_cast<size_t>(op)];
  }
};

// The chart of `trace`, into which it points: `trace` must outlive it.
// Complexity: linear in events (times the overlapping sums of a worker).
[[nodiscard]] Chart make_chart(const Trace& trace);
Chart make_chart(Trace&&) = delete;

}  // namespace chimera
