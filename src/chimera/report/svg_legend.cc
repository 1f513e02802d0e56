#include "chimera/report/svg_legend.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "chimera/report/label.h"
#include "chimera/report/palette.h"
#include "chimera/report/svg_layout.h"

namespace chimera {

namespace {

constexpr double kLine = 18;
constexpr double kSwatch = 12;

struct Entry {
  std::string fill;
  std::string_view words;
};

// Writes entries from left to right and keeps track of the right edge.
class LegendWriter {
 public:
  explicit LegendWriter(const Point& at) : left_(at.x), at_(at) {
    legend_.bottom = at.y;
  }

  void add_words(std::string_view words, double width) {
    append_text({at_.x, at_.y + kSwatch - 2}, words, "", &legend_.svg);
    at_.x += width;
  }

  void add(const Entry& entry) {
    append_rect({at_.x, at_.y, at_.x + kSwatch, at_.y + kSwatch}, entry.fill,
                "", &legend_.svg);
    at_.x += kSwatch + 5;
    add_words(entry.words, text_width(entry.words, kFontSize));
    legend_.right = std::max(legend_.right, at_.x);
    at_.x += 12;
  }

  void end_line() {
    at_ = {left_, at_.y + kLine};
    legend_.bottom = at_.y;
  }

  [[nodiscard]] SvgLegend legend() && { return std::move(legend_); }

 private:
  double left_;
  Point at_;
  SvgLegend legend_;
};

// The legend entries of one pipe. Whole backwards and input halves have the
// same colour, so they share an entry.
std::vector<Entry> pipe_entries(const Chart& chart, int pipe) {
  std::vector<Entry> entries;
  for (const Op op : {Op::kF, Op::kR, Op::kB, Op::kI, Op::kW}) {
    if (!chart.shows_op(op)) continue;
    if (op == Op::kI && chart.shows_op(Op::kB)) {
      entries.back().words = "backward, input gradient";
    } else {
      entries.push_back({svg_fill(op, pipe), op_words(op, chart.halves)});
    }
  }
  return entries;
}

std::vector<Entry> other_entries(const Chart& chart) {
  std::vector<Entry> entries;
  for (const Op op : {Op::kU, Op::kG}) {
    if (!chart.shows_op(op)) continue;
    entries.push_back({svg_fill(op, kNone), op_words(op, false)});
  }
  entries.push_back({hex(kIdle), "idle"});
  return entries;
}

std::string pipe_words(const Chart& chart, int pipe) {
  const std::string route = route_words(chart.pipes[pipe]);
  return route.empty() ? fmt::format("pipe {}", pipe)
                       : fmt::format("pipe {} ({})", pipe, route);
}

void write_pipes(const Chart& chart, LegendWriter* writer) {
  const int num_pipes = static_cast<int>(chart.pipes.size());
  const int shown = std::min(num_pipes, kNumHues);
  double width = 0;
  for (int pipe = 0; pipe < shown; ++pipe) {
    width = std::max(width, text_width(pipe_words(chart, pipe), kFontSize));
  }
  for (int pipe = 0; pipe < shown; ++pipe) {
    writer->add_words(pipe_words(chart, pipe), width + 12);
    for (const Entry& entry : pipe_entries(chart, pipe)) writer->add(entry);
    writer->end_line();
  }
  if (shown == num_pipes) return;
  writer->add_words(
      fmt::format("{} more pipes repeat these colours", num_pipes - shown), 0);
  writer->end_line();
}

void write_chunks(const Chart& chart, LegendWriter* writer) {
  constexpr int kMost = 3;  // shades that differ
  constexpr std::string_view kWords[] = {"1st", "2nd", "3rd and later"};
  writer->add_words("stages of a worker:",
                    text_width("stages of a worker:", kFontSize) + 12);
  for (int chunk = 0; chunk < std::min(chart.chunks, kMost); ++chunk) {
    writer->add({svg_fill(Op::kB, 0, chunk), kWords[chunk]});
  }
  writer->end_line();
}

}  // namespace

SvgLegend make_svg_legend(const Chart& chart, const Point& at) {
  LegendWriter writer(at);
  if (chart.pipes.size() > 1) {
    write_pipes(chart, &writer);
  } else {
    for (const Entry& entry : pipe_entries(chart, 0)) writer.add(entry);
  }
  for (const Entry& entry : other_entries(chart)) writer.add(entry);
  writer.end_line();
  if (chart.chunks > 1) write_chunks(chart, &writer);
  return std::move(writer).legend();
}

std::string svg_fill(Op op, int pipe, int chunk) {
  if (op == Op::kR) {
    return fmt::format("url(#recompute{})", std::max(pipe, 0) % kNumHues);
  }
  return hex(op_paint(op, pipe, chunk).fill);
}

std::string svg_hatchings(const Chart& chart) {
  if (!chart.shows_op(Op::kR)) return {};
  std::string defs = "<defs>\n";
  const int hues = std::min(static_cast<int>(chart.pipes.size()), kNumHues);
  for (int hue = 0; hue < hues; ++hue) {
    defs += fmt::format(
        "<pattern id=\"recompute{}\" width=\"6\" height=\"6\" "
        "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
        "<rect width=\"6\" height=\"6\" fill=\"{}\"/>"
        "<rect width=\"1.5\" height=\"6\" fill=\"{}\"/></pattern>\n",
        hue, hex(op_paint(Op::kF, hue).fill), hex(op_paint(Op::kW, hue).fill));
  }
  return defs + "</defs>\n";
}

}  // namespace chimera
