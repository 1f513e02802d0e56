#include "chimera/cli/drawing.h"

#include <fmt/format.h>

#include "chimera/base/text.h"
#include "chimera/console/console.h"
#include "chimera/report/svg.h"
#include "chimera/report/text.h"

namespace chimera {

std::string headline(const Schedule& schedule, const Simulation& simulation) {
  std::string text = fmt::format("{}, D={}, N={}", schedule.scheme,
                                 schedule.depth, schedule.micros);
  if (schedule.pipes() > 1) text += fmt::format(", {} pipes", schedule.pipes());
  if (schedule.chunks() > 1) {
    text += fmt::format(", {} chunks", schedule.chunks());
  }
  if (schedule.width > 1) text += fmt::format(", W={}", schedule.width);
  if (simulation.trace.steps > 1) {
    text += fmt::format(", {} steps", simulation.trace.steps);
  }
  // Rounds the makespan, because simulated seconds have too many digits.
  const double rounded = std::stod(fmt::format("{:.6g}", simulation.makespan));
  return text + fmt::format(": makespan {}, bubble {:.1f} %", number(rounded),
                            100 * simulation.bubble_ratio);
}

std::string draw(const Schedule& schedule, const Simulation& simulation,
                 const DrawOptions& options) {
  const std::string title = headline(schedule, simulation);
  if (options.svg) return draw_svg(simulation.trace, {.title = title});
  TextOptions text;
  if (!options.to_file) {
    text.colour = stdout_has_colour();
    text.max_columns = stdout_columns();
  }
  return title + "\n" + draw_text(simulation.trace, text);
}

}  // namespace chimera
