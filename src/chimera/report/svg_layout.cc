#include "chimera/report/svg_layout.h"

#include <fmt/format.h>

#include <algorithm>

namespace chimera {

namespace {

constexpr double kTypicalBlock = 26;  // wide enough for a two-digit number
constexpr double kNarrowestPlot = 360;
constexpr double kBlockHeight = 22;
constexpr double kHighestPlot = 2400;
constexpr double kThinnestRow = 2;

double plot_width(const Chart& chart, double widest) {
  if (chart.num_blocks == 0) return kNarrowestPlot;
  return std::clamp(chart.end / chart.typical * kTypicalBlock, kNarrowestPlot,
                    widest);
}

void set_heights(const Chart& chart, SvgLayout* layout) {
  const double rows =
      std::max<double>(1, static_cast<double>(chart.rows.size()));
  const double height =
      std::clamp(kHighestPlot / rows, kThinnestRow, kBlockHeight);
  layout->block_height = height;
  layout->lane_height = height * 0.5;
  const double gap = height * 0.2;
  const auto lanes = static_cast<double>(chart.num_lanes);
  layout->row_pitch = height + lanes * layout->lane_height + gap;
}

}  // namespace

SvgLayout make_layout(const Chart& chart, const LayoutOptions& options) {
  SvgLayout layout;
  layout.gap_before = options.gap_before;
  set_heights(chart, &layout);
  double widest = 0;
  for (const std::string& name : options.row_names) {
    widest = std::max(widest, text_width(name, kFontSize));
  }
  layout.plot.left = kMargin + widest + 6;
  layout.plot.top = kMargin + (options.has_title ? kTitleSize + 9 : 0);
  layout.plot.right = layout.plot.left + plot_width(chart, options.widest);
  layout.plot.bottom = layout.row_top(static_cast<int>(chart.rows.size()));
  if (chart.end > 0)
    layout.scale = plot_width(chart, options.widest) / chart.end;
  return layout;
}

Box SvgLayout::block(const Event& event) const {
  const double top = row_top(event.worker);
  return {x(event.start), top, x(event.end), top + block_height};
}

Box SvgLayout::sum(const Event& event, size_t lane) const {
  const double top = row_top(event.worker) + block_height +
                     static_cast<double>(lane) * lane_height;
  return {x(event.start), top + 0.1 * lane_height, x(event.end),
          top + 0.9 * lane_height};
}

}  // namespace chimera
