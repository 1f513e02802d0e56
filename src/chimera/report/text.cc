#include "chimera/report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>

#include "chimera/report/label.h"
#include "chimera/report/terminal.h"
#include "chimera/report/text_legend.h"
#include "chimera/report/text_scale.h"

namespace chimera {

namespace {

// The settings that all lines of one drawing share.
struct Sheet {
  const Chart& chart;
  TextScale scale;
  bool colour = false;
  int gutter = 0;             // columns left of time 0
  int last_column = INT_MAX;  // last column of the axis
};

// `width` columns of a block or gap: the label, then `fill`, and a blank at the
// end of each cell. A cell of one column has no blank; the next block starts
// with a letter, so it can still be told apart.
std::string stretch(const std::string& label, char fill, int width, int cell) {
  std::string text(width, fill);
  if (cell > 1) {
    for (int column = cell - 1; column < width; column += cell) {
      text[column] = ' ';
    }
  }
  if (width > 1 && cell != 1) text[width - 1] = ' ';
  if (label.empty()) return text;
  const bool fits = static_cast<int>(label.size()) < width;
  text.replace(0, fits ? label.size() : 1, fits ? label : label.substr(0, 1));
  if (fits && cell > 0) {
    const int padding = std::min(cell, width) - static_cast<int>(label.size());
    if (padding > 0) text.replace(label.size(), padding, padding, ' ');
  }
  return text;
}

void append_idle(const Sheet& sheet, int width, std::string* line) {
  if (width <= 0) return;
  const std::string text = stretch("", '.', width, sheet.scale.cell);
  *line += sheet.colour ? dimmed(text) : text;
}

void append_block(const Sheet& sheet, const Event& block, int width,
                  std::string* line) {
  const std::string label = event_label(block.action, sheet.chart.halves);
  const char fill = sheet.colour ? ' ' : '-';
  std::string text = stretch(label, fill, width, sheet.scale.cell);
  if (!sheet.colour) {
    *line += text;
    return;
  }
  // The blank after the block stays unpainted, to separate it from the next.
  const size_t blank = width > 1 ? 1 : 0;
  text.resize(text.size() - blank);
  *line += painted(text, op_paint(block.action.op, block.action.pipe,
                                  sheet.chart.chunk_of(block)));
  line->append(blank, ' ');
}

void append_sum(const Sheet& sheet, const Event& sum, int width,
                std::string* line) {
  std::string text(width, '=');
  if (width > 1) text.back() = ' ';
  const std::string label = event_label(sum.action, false);
  const int slack = width - 1 - static_cast<int>(label.size());
  if (slack >= 0) text.replace(slack / 2, label.size(), label);
  *line += sheet.colour ? dimmed(text) : text;
}

void end_line(std::string* line, std::string* out) {
  line->resize(line->find_last_not_of(' ') + 1);
  *out += *line;
  *out += '\n';
}

void draw_blocks(const Sheet& sheet, int worker, std::string* out) {
  std::string line =
      fmt::format("{:<{}}", fmt::format("P{}", worker), sheet.gutter);
  int column = 0;
  for (const Event* block : sheet.chart.rows[worker].blocks) {
    const int begin = std::max(sheet.scale.column(block->start), column);
    const int end = sheet.scale.column(block->end);
    if (end <= begin) continue;
    append_idle(sheet, begin - column, &line);
    append_block(sheet, *block, end - begin, &line);
    column = end;
  }
  append_idle(sheet, sheet.scale.columns - column, &line);
  end_line(&line, out);
}

void draw_sums(const Sheet& sheet, const Lane& lane, std::string* out) {
  std::string line(sheet.gutter, ' ');
  int column = 0;
  for (const Event* sum : lane) {
    const int begin = std::max(sheet.scale.column(sum->start), column);
    const int end = sheet.scale.column(sum->end);
    if (end <= begin) continue;
    line.append(begin - column, ' ');
    append_sum(sheet, *sum, end - begin, &line);
    column = end;
  }
  end_line(&line, out);
}

void draw_axis(const Sheet& sheet, std::string* out) {
  std::string line = fmt::format("{:<{}}", "t", sheet.gutter);
  for (const Tick& tick :
       axis_ticks(sheet.chart.end, sheet.scale.columns_per_time)) {
    const size_t column = sheet.gutter + sheet.scale.column(tick.time);
    if (static_cast<int>(column + tick.label.size()) > sheet.last_column) break;
    line.resize(std::max(line.size(), column), ' ');
    line += tick.label;
  }
  end_line(&line, out);
}

Sheet make_sheet(const Chart& chart, const TextOptions& options) {
  Sheet sheet{.chart = chart, .scale = {}, .colour = options.colour};
  const size_t last = std::max<size_t>(chart.rows.size(), 1) - 1;
  sheet.gutter = static_cast<int>(fmt::formatted_size("P{} ", last));
  constexpr int kNarrowest = 10;  // a narrower drawing shows nothing
  int columns = 0;
  if (options.max_columns > 0) {
    columns = std::max(options.max_columns - sheet.gutter, kNarrowest);
    sheet.last_column = sheet.gutter + columns;
  }
  sheet.scale = choose_scale(chart, columns);
  return sheet;
}

}  // namespace

std::string draw_text(const Trace& trace, const TextOptions& options) {
  const Chart chart = make_chart(trace);
  const Sheet sheet = make_sheet(chart, options);
  const int shown = options.max_rows > 0
                        ? std::min(options.max_rows, trace.workers)
                        : trace.workers;
  std::string out;
  draw_axis(sheet, &out);
  for (int worker = 0; worker < shown; ++worker) {
    draw_blocks(sheet, worker, &out);
    for (const Lane& lane : chart.rows[worker].sums) {
      draw_sums(sheet, lane, &out);
    }
  }
  if (shown < trace.workers) {
    out += fmt::format("... {} more workers\n", trace.workers - shown);
  }
  return out + text_legend(chart, options.colour);
}

}  // namespace chimera
