// A trace as rows of numbers, for numpy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chimera/trace/trace.h"

namespace chimera::python {

// The columns of python/chimera/_trace.py, in the same order.
struct TraceRow {
  double start = 0;
  double end = 0;
  std::int32_t op = 0;
  std::int32_t worker = 0;
  std::int32_t pipe = 0;
  std::int32_t stage = 0;
  std::int32_t micro = 0;
  std::int32_t part = 0;
  std::int32_t step = 0;
  std::int32_t peer = 0;
  std::int32_t group = 0;
  std::int32_t cause = 0;
};

[[nodiscard]] inline std::vector<TraceRow> trace_rows(const Trace& trace) {
  std::vector<TraceRow> rows;
  rows.reserve(trace.events.size());
  for (const Event& event : trace.events) {
    const Action& action = event.action;
    rows.push_back({.start = event.start,
                    .end = event.end,
                    .op = static_cast<std::int32_t>(action.op),
                    .worker = event.worker,
                    .pipe = action.pipe,
                    .stage = action.stage,
                    .micro = action.micro,
                    .part = action.part,
                    .step = event.step,
                    .peer = action.peer,
                    .group = action.group,
                    .cause = event.cause});
  }
  return rows;
}

[[nodiscard]] inline std::string trace_bytes(const Trace& trace) {
  const std::vector<TraceRow> rows = trace_rows(trace);
  return {reinterpret_cast<const char*>(rows.data()),
          rows.size() * sizeof(TraceRow)};
}

}  // namespace chimera::python
