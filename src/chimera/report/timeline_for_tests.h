// Traces for this module's tests, written as papers print them: one token per
// unit of time, `F0` forward, `B2` backward, `--` the block above continues,
// `..` idle.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "chimera/base/text.h"
#include "chimera/trace/trace.h"

namespace chimera {

// Chimera with D = 4, N = 4 and a backward as long as two forwards (makespan
// 16).
inline const std::vector<std::string> kChimera4 = {
    "F0 F1 .. F2 B2 -- F3 B3 -- .. B0 -- .. .. B1 --",
    ".. F0 F2 F1 F3 .. B2 -- B0 -- B3 -- B1 -- .. ..",
    ".. F2 F0 F3 F1 .. B0 -- B2 -- B1 -- B3 -- .. ..",
    "F2 F3 .. F0 B0 -- F1 B1 -- .. B2 -- .. .. B3 --"};

inline Op op_of(char letter) {
  constexpr std::string_view kLetters = "FBIWUR";
  return static_cast<Op>(kLetters.find(letter));
}

struct TimelineOptions {
  double unit = 1;  // the time of one token
  // Micro-batches from this number on go through pipe 1, from the last worker
  // to the first; the others go through pipe 0.
  int first_micro_up = 1000;
};

inline Event event_of(std::string_view token, int worker, int workers,
                      const TimelineOptions& options) {
  Event event{.action = {.op = op_of(token[0])}, .worker = worker};
  event.action.micro = parse_int(token.substr(1)).value_or(kNone);
  const bool up = event.action.micro >= options.first_micro_up;
  event.action.pipe = up ? 1 : 0;
  event.action.stage = up ? workers - 1 - worker : worker;
  return event;
}

inline Trace timeline(const std::vector<std::string>& rows,
                      const TimelineOptions& options = {}) {
  Trace trace;
  trace.workers = static_cast<int>(rows.size());
  for (int worker = 0; worker < trace.workers; ++worker) {
    double time = 0;
    for (const std::string_view token : split(rows[worker], ' ')) {
      const double next = time + options.unit;
      if (token == "--") {
        trace.events.back().end = next;
      } else if (token != "..") {
        trace.events.push_back(event_of(token, worker, trace.workers, options));
        trace.events.back().start = time;
        trace.events.back().end = next;
        trace.pipes =
            std::max(trace.pipes, trace.events.back().action.pipe + 1);
      }
      time = next;
    }
  }
  std::stable_sort(
      trace.events.begin(), trace.events.end(),
      [](const Event& a, const Event& b) { return a.start < b.start; });
  return trace;
}

}  // namespace chimera
