#include "chimera/report/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "chimera/report/label.h"
#include "chimera/report/palette.h"
#include "chimera/report/svg_layout.h"
#include "chimera/report/svg_legend.h"

namespace chimera {

namespace {

constexpr size_t kMostToolTips = 5000;

std::string tool_tip(const Chart& chart, const Event& event) {
  return chart.num_blocks < kMostToolTips ? describe(event) : "";
}

double text_size(const Box& box) {
  return std::min(kFontSize, (box.bottom - box.top) * 0.9);
}

// Opens the group of blocks. White lines separate them, unless blocks are so
// narrow that the lines would hide them.
std::string group_of_blocks(const Chart& chart, const SvgLayout& layout) {
  const bool part =
      chart.typical * layout.scale >= 3 && layout.block_height > 4;
  return fmt::format("<g class=\"blocks\"{}>\n",
                     part ? R"( stroke="#ffffff" stroke-width="0.8")" : "");
}

// The end of the last block or sum in these rows.
double end_of(std::span<const ChartRow> rows) {
  double end = 0;
  const auto note = [&](const Lane& lane) {
    for (const Event* event : lane) end = std::max(end, event->end);
  };
  for (const ChartRow& row : rows) {
    note(row.blocks);
    for (const Lane& sums : row.sums) note(sums);
  }
  return end;
}

// Draws the background of all rows. Of two drawings, the shorter one ends with
// its own last event: after that its workers are done, not idle.
void draw_idle(const Chart& chart, const SvgLayout& layout, std::string* svg) {
  const std::span<const ChartRow> rows = chart.rows;
  const auto gap = static_cast<size_t>(layout.gap_before);
  const bool has_gap = gap > 0 && gap < rows.size();
  double right = layout.plot.right;
  if (has_gap) right = layout.x(end_of(rows.first(gap)));
  *svg += "<g class=\"idle\">\n";
  for (size_t worker = 0; worker < rows.size(); ++worker) {
    if (has_gap && worker == gap) right = layout.x(end_of(rows.subspan(gap)));
    const double top = layout.row_top(static_cast<int>(worker));
    append_rect({layout.plot.left, top, right, top + layout.block_height},
                hex(kIdle), "", svg);
  }
  *svg += "</g>\n";
}

void draw_blocks(const Chart& chart, const SvgLayout& layout,
                 std::string* svg) {
  *svg += group_of_blocks(chart, layout);
  for (const ChartRow& row : chart.rows) {
    for (const Event* block : row.blocks) {
      append_rect(layout.block(*block),
                  svg_fill(block->action.op, block->action.pipe,
                           chart.chunk_of(*block)),
                  tool_tip(chart, *block), svg);
    }
  }
  *svg += "</g>\n";
}

// The micro-batch number only: the colour already tells the op.
std::string number_in(const Event& block) {
  if (block.action.micro == kNone) return std::string(op_name(block.action.op));
  return std::to_string(block.action.micro);
}

// Writes `text` in the middle of `box` if it fits.
void append_centred(const Box& box, const std::string& text, const Paint& paint,
                    std::string* svg) {
  const double size = text_size(box);
  if (text_width(text, size) + 2 > box.right - box.left) return;
  append_text(
      {(box.left + box.right) / 2, (box.top + box.bottom) / 2 + 0.36 * size},
      text, paint.ink == kInk ? "" : "fill=\"#ffffff\"", svg);
}

// Opens a group of centred texts; false, and nothing written, if boxes as high
// as `box` are too low for readable text.
bool open_texts(const Box& box, std::string* svg) {
  const double size = text_size(box);
  if (size < 5) return false;
  *svg += fmt::format(
      R"(<g font-size="{}" text-anchor="middle" pointer-events="none">)"
      "\n",
      coordinate(size));
  return true;
}

void draw_numbers(const Chart& chart, const SvgLayout& layout,
                  std::string* svg) {
  if (!open_texts(layout.block({}), svg)) return;
  for (const ChartRow& row : chart.rows) {
    for (const Event* block : row.blocks) {
      append_centred(layout.block(*block), number_in(*block),
                     op_paint(block->action.op, block->action.pipe,
                              chart.chunk_of(*block)),
                     svg);
    }
  }
  *svg += "</g>\n";
}

template <class Draw>  // void(const Event&, const Box&)
void for_each_sum(const Chart& chart, const SvgLayout& layout, Draw draw) {
  for (const ChartRow& row : chart.rows) {
    for (size_t lane = 0; lane < row.sums.size(); ++lane) {
      for (const Event* sum : row.sums[lane]) {
        draw(*sum, layout.sum(*sum, lane));
      }
    }
  }
}

void draw_sums(const Chart& chart, const SvgLayout& layout, std::string* svg) {
  if (!chart.shows_op(Op::kG)) return;
  *svg += "<g class=\"sums\">\n";
  for_each_sum(chart, layout, [&](const Event& sum, const Box& box) {
    append_rect(box, svg_fill(Op::kG, kNone), tool_tip(chart, sum), svg);
  });
  *svg += "</g>\n";
  if (!open_texts(layout.sum({}, 0), svg)) return;
  for_each_sum(chart, layout, [&](const Event& sum, const Box& box) {
    append_centred(box, event_label(sum.action, false), op_paint(Op::kG, kNone),
                   svg);
  });
  *svg += "</g>\n";
}

void draw_message(const SvgLayout& layout, const Event& message,
                  std::string* svg) {
  const bool down = message.action.peer > message.worker;
  const double from = layout.row_top(message.worker);
  const double to = layout.row_top(message.action.peer);
  const double height = layout.block_height;
  append_line({layout.x(message.start), down ? from + height : from},
              {layout.x(message.end), down ? to : to + height}, svg);
}

void draw_messages(const Trace& trace, const SvgLayout& layout,
                   std::string* svg) {
  *svg +=
      "<defs><marker id=\"arrow\" viewBox=\"0 0 6 6\" refX=\"6\" refY=\"3\" "
      "markerWidth=\"5\" markerHeight=\"5\" orient=\"auto\">"
      "<path d=\"M0 0L6 3L0 6z\" fill=\"#303030\"/></marker></defs>\n"
      "<g class=\"messages\" stroke=\"#303030\" stroke-width=\"0.7\" "
      "marker-end=\"url(#arrow)\">\n";
  for (const Event& event : trace.events) {
    const int peer = event.action.peer;
    if (!is_send(event.action.op) || peer == event.worker) continue;
    if (peer >= 0 && peer < trace.workers) draw_message(layout, event, svg);
  }
  *svg += "</g>\n";
}

std::vector<std::string> row_names(const Chart& chart,
                                   const SvgOptions& options) {
  if (!options.row_names.empty()) return options.row_names;
  std::vector<std::string> names;
  for (size_t worker = 0; worker < chart.rows.size(); ++worker) {
    names.push_back(fmt::format("P{}", worker));
  }
  return names;
}

void draw_names(const std::vector<std::string>& names, const SvgLayout& layout,
                std::string* svg) {
  // Rows lower than a line of text: only every n-th one gets a name.
  const int every = static_cast<int>(std::ceil(kFontSize / layout.row_pitch));
  *svg += "<g class=\"workers\" text-anchor=\"end\">\n";
  for (int worker = 0; worker < static_cast<int>(names.size());
       worker += every) {
    const double middle = layout.row_top(worker) + layout.block_height / 2;
    append_text({layout.plot.left - 6, middle + 0.36 * kFontSize},
                names[worker], "", svg);
  }
  *svg += "</g>\n";
}

void draw_axis(const Chart& chart, const SvgLayout& layout,
               const std::string& time_label, std::string* svg) {
  const double top = layout.plot.bottom;
  *svg += "<g class=\"axis\" stroke=\"#141414\" stroke-width=\"0.8\">\n";
  append_line({layout.plot.left, top}, {layout.plot.right, top}, svg);
  // Twice the width of a digit: labels on an axis need space between them.
  const double characters = layout.scale / text_width("00", kFontSize);
  const auto ticks = axis_ticks(chart.end, characters);
  for (const Tick& tick : ticks) {
    append_line({layout.x(tick.time), top}, {layout.x(tick.time), top + 4},
                svg);
  }
  *svg += "</g>\n<g text-anchor=\"middle\">\n";
  for (const Tick& tick : ticks) {
    append_text({layout.x(tick.time), top + 6 + kFontSize}, tick.label, "",
                svg);
  }
  append_text(
      {(layout.plot.left + layout.plot.right) / 2, top + 10 + 2 * kFontSize},
      time_label, "", svg);
  *svg += "</g>\n";
}

std::string svg_header(const Point& size, const std::string& title) {
  return fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" )"
      R"(viewBox="0 0 {0} {1}" role="img" font-family="sans-serif" )"
      R"(font-size="{2}" fill="{3}">)"
      "\n<title>{4}</title>\n"
      R"(<rect width="{0}" height="{1}" fill="#ffffff"/>)"
      "\n",
      coordinate(size.x), coordinate(size.y), kFontSize, hex(kInk),
      title.empty() ? "pipeline timeline" : escape_xml(title));
}

void draw_title(const SvgLayout& layout, const std::string& title,
                std::string* svg) {
  if (title.empty()) return;
  append_text({layout.plot.left, kMargin + kTitleSize - 2}, title,
              fmt::format("font-size=\"{}\" font-weight=\"bold\"", kTitleSize),
              svg);
}

}  // namespace

std::string draw_svg(const Trace& trace, const SvgOptions& options) {
  const Chart chart = make_chart(trace);
  const std::vector<std::string> names = row_names(chart, options);
  const SvgLayout layout =
      make_layout(chart, {.has_title = !options.title.empty(),
                          .row_names = names,
                          .gap_before = options.gap_before,
                          .widest = options.widest});
  const double below_axis = layout.plot.bottom + 20 + 2 * kFontSize;
  const SvgLegend legend =
      make_svg_legend(chart, {layout.plot.left, below_axis});
  const double title_right =
      layout.plot.left + text_width(options.title, kTitleSize) * 1.1;
  // The last tick's label may extend beyond the plot.
  const double right =
      std::max({layout.plot.right + 8, legend.right, title_right});
  std::string svg =
      svg_header({std::ceil(right + kMargin), std::ceil(legend.bottom + 4)},
                 options.title) +
      svg_hatchings(chart);
  draw_title(layout, options.title, &svg);
  draw_idle(chart, layout, &svg);
  draw_blocks(chart, layout, &svg);
  draw_numbers(chart, layout, &svg);
  draw_sums(chart, layout, &svg);
  if (options.messages) draw_messages(trace, layout, &svg);
  draw_names(names, layout, &svg);
  draw_axis(chart, layout, options.time_label, &svg);
  return svg + "<g class=\"legend\">\n" + legend.svg + "</g>\n</svg>\n";
}

}  // namespace chimera
