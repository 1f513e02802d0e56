#include "chimera/run/timeline.h"

#include <fmt/format.h>

#include "chimera/report/svg.h"
#include "chimera/simulate/simulate.h"
#include "chimera/trace/measure.h"

namespace chimera {

std::string draw_last_step(const TrainOutcome& outcome) {
  const Schedule& schedule = outcome.schedule;
  const Costs costs = measured_costs(schedule, outcome.trace);
  const Trace plan = simulate(schedule, costs).trace;
  const int workers = schedule.workers();
  const Trace run = one_step(outcome.trace, outcome.steps - 1, workers);
  std::vector<std::string> names;
  for (const char* which : {"plan", "run"}) {
    for (int worker = 0; worker < workers; ++worker) {
      names.push_back(fmt::format("{} P{}", which, worker));
    }
  }
  return draw_svg(side_by_side(plan, run),
                  {.title = fmt::format("{}, step {}: as planned and as run",
                                        schedule.scheme, outcome.steps),
                   .time_label = "time (s)",
                   .row_names = names});
}

}  // namespace chimera
