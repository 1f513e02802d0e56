#include "chimera/run/timeline.h"

#include <fmt/format.h>

#include "chimera/report/svg.h"
#include "chimera/simulate/simulate.h"
#include "chimera/trace/measure.h"

namespace chimera {
namespace {

constexpr int kMostRows = 16;  // of the plan, and as many of the run

// Chooses the workers to draw.
std::vector<int> chosen_workers(int workers) {
  std::vector<int> chosen;
  for (int worker = 0; worker < workers; ++worker) {
    const bool is_end =
        worker < kMostRows / 2 || worker >= workers - kMostRows / 2;
    if (workers <= kMostRows || is_end) chosen.push_back(worker);
  }
  return chosen;
}

// The events of the chosen workers, one row each.
Trace only(const Trace& trace, const std::vector<int>& chosen) {
  std::vector<int> row_of(trace.workers, kNone);
  for (std::size_t row = 0; row < chosen.size(); ++row) {
    row_of[chosen[row]] = static_cast<int>(row);
  }
  Trace rows{.workers = static_cast<int>(chosen.size()), .pipes = trace.pipes};
  for (Event event : trace.events) {
    if (row_of[event.worker] == kNone || is_send(event.action.op)) continue;
    event.worker = row_of[event.worker];
    event.cause = kNone;
    rows.events.push_back(event);
  }
  return rows;
}

std::string title_of(const TrainOutcome& outcome, double planned, double ran) {
  const Schedule& schedule = outcome.schedule;
  std::string title = fmt::format("{}, step {}: planned {:.3g} s, ran {:.3g} s",
                                  schedule.scheme, outcome.steps, planned, ran);
  if (schedule.width > 1) {
    title += fmt::format("; the first of {} copies", schedule.width);
  }
  if (schedule.workers() > kMostRows) {
    title += fmt::format("; {} of {} workers", kMostRows, schedule.workers());
  }
  return title;
}

}  // namespace

std::string draw_last_step(const TrainOutcome& outcome, int cores) {
  const Schedule& schedule = outcome.schedule;
  const int workers = schedule.workers();
  const Costs costs = measured_costs(
      schedule, cores > 0 ? unshared(outcome.trace, cores) : outcome.trace);
  const Trace plan = simulate(schedule, costs, {.cores = cores}).trace;
  const Trace run = one_step(outcome.trace, outcome.steps - 1, workers);
  const std::vector<int> chosen = chosen_workers(workers);
  std::vector<std::string> names;
  for (const char* which : {"plan", "run"}) {
    for (const int worker : chosen) {
      names.push_back(fmt::format("{} P{}", which, worker));
    }
  }
  return draw_svg(side_by_side(only(plan, chosen), only(run, chosen)),
                  {.title = title_of(outcome, makespan(plan), makespan(run)),
                   .time_label = "time (s)",
                   .row_names = names,
                   .gap_before = static_cast<int>(chosen.size()),
                   .widest = 1200});
}

}  // namespace chimera
