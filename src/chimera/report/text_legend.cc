#include "chimera/report/text_legend.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "chimera/base/text.h"
#include "chimera/report/label.h"
#include "chimera/report/terminal.h"

namespace chimera {

namespace {

constexpr Op kBlocks[] = {Op::kF, Op::kR, Op::kB, Op::kI, Op::kW, Op::kU};

std::string letter(const Chart& chart, Op op) {
  return event_label({.op = op}, chart.halves);
}

std::string op_line(const Chart& chart, bool colour) {
  std::vector<std::string> parts;
  // With several pipes an op has several colours; the next line shows them.
  const bool paint = colour && chart.pipes.size() == 1;
  for (const Op op : kBlocks) {
    if (!chart.shows_op(op)) continue;
    const std::string name = letter(chart, op);
    const std::string shown =
        paint ? painted(' ' + name + ' ', op_paint(op, 0)) : name;
    parts.push_back(fmt::format("{} {}", shown, op_words(op, chart.halves)));
  }
  if (!colour) parts.emplace_back("-- goes on");
  parts.push_back((colour ? dimmed("..") : "..") + " idle");
  if (chart.shows_op(Op::kG)) parts.emplace_back("== gradient sum");
  return join(parts, "  ") + '\n';
}

std::string swatches(const Chart& chart, int pipe) {
  std::string text;
  for (const Op op : kBlocks) {
    if (!chart.shows_op(op) || op == Op::kU) continue;
    text += painted(' ' + letter(chart, op) + ' ', op_paint(op, pipe));
  }
  return text + ' ';
}

std::string pipe_line(const Chart& chart, bool colour) {
  std::vector<std::string> parts;
  const int shown = std::min(static_cast<int>(chart.pipes.size()), kNumHues);
  for (int pipe = 0; pipe < shown; ++pipe) {
    const PipeRoute& route = chart.pipes[pipe];
    if (route.micros.empty()) continue;
    parts.push_back(fmt::format("{}pipe {}: {}, micros {}",
                                colour ? swatches(chart, pipe) : "", pipe,
                                route_words(route), ranges(route.micros)));
  }
  const size_t rest = chart.pipes.size() - shown;
  if (rest > 0) parts.push_back(fmt::format("and {} more pipes", rest));
  return join(parts, "; ") + '\n';
}

// Says how to tell a worker's stages of one pipe apart.
std::string chunk_line(const Chart& chart, bool colour) {
  if (!colour) {
    return fmt::format(
        "a worker runs {} stages of a pipe; colours tell them apart: on a "
        "terminal, or in an SVG\n",
        chart.chunks);
  }
  std::string text = "stages of a worker, the lowest first:";
  for (int chunk = 0; chunk < chart.chunks; ++chunk) {
    text += ' ' +
            painted(fmt::format(" {} ", chunk + 1), op_paint(Op::kF, 0, chunk));
  }
  return text + '\n';
}

}  // namespace

std::string text_legend(const Chart& chart, bool colour) {
  std::string legend = op_line(chart, colour);
  if (chart.pipes.size() > 1) legend += pipe_line(chart, colour);
  if (chart.chunks > 1) legend += chunk_line(chart, colour);
  return legend;
}

}  // namespace chimera
