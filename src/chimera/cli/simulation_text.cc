#include "chimera/cli/simulation_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "chimera/base/text.h"
#include "chimera/cli/drawing.h"

namespace chimera {
namespace {

// whole - part, or 0 if they differ only by rounding errors.
double rest(double whole, double part) {
  const double left = whole - part;
  return std::abs(left) < 1e-9 * whole ? 0 : left;
}

double percent_of(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}

// Four digits, since predictions are not more precise.
std::string shown_time(double time, const SimulationView& view) {
  return view.in_seconds ? fmt::format("{:.4g}", time) : number(time);
}

// The share of each kind of event in the critical path.
std::string critical_path(const SimulationView& view) {
  const Simulation& simulation = view.simulation;
  const std::vector<Event>& events = simulation.trace.events;
  double compute = 0;
  double messages = 0;
  double sums = 0;
  std::vector<std::string> workers;
  for (const int index : simulation.critical_path) {
    const Event& event = events[index];
    const double time = event.end - event.start;
    if (is_compute(event.action.op)) {
      compute += time;
      const std::string worker = std::to_string(event.worker);
      if (workers.empty() || workers.back() != worker) {
        workers.push_back(worker);
      }
    } else if (is_send(event.action.op)) {
      messages += time;
    } else {
      sums += time;
    }
  }
  constexpr size_t kMost = 24;
  const size_t hops = workers.size();
  if (hops > kMost) {
    workers.erase(workers.begin() + kMost / 2, workers.end() - kMost / 2);
    workers.insert(workers.begin() + kMost / 2, "...");
  }
  return fmt::format("{} compute + {} messages + {} sums, over workers {}",
                     shown_time(compute, view), shown_time(messages, view),
                     shown_time(sums, view), join(workers, " "));
}

std::string worker_table(const SimulationView& view) {
  constexpr size_t kMost = 64;
  const Simulation& simulation = view.simulation;
  const bool has_bytes = !view.peak_bytes.empty();
  std::string text = fmt::format("{:>6} {:>10} {:>10} {:>10} {:>10} {:>6}{}\n",
                                 "worker", "busy", "idle", "first", "last",
                                 "peak", has_bytes ? "       MB" : "");
  const size_t rows = std::min(kMost, simulation.workers.size());
  for (size_t worker = 0; worker < rows; ++worker) {
    const WorkerStats& stats = simulation.workers[worker];
    text += fmt::format(
        "{:>6} {:>10} {:>10} {:>10} {:>10} {:>6}{}\n", worker,
        shown_time(stats.busy, view),
        shown_time(rest(simulation.makespan, stats.busy), view),
        shown_time(stats.first, view), shown_time(stats.last, view),
        number(stats.peak_activations),
        has_bytes ? fmt::format(" {:>8.1f}", view.peak_bytes[worker] / 1e6)
                  : "");
  }
  if (rows < simulation.workers.size()) {
    text += fmt::format("   ... {} more; --format json has all\n",
                        simulation.workers.size() - rows);
  }
  return text;
}

}  // namespace

std::string simulation_text(const SimulationView& view) {
  const Simulation& simulation = view.simulation;
  const std::optional<double>& cap = view.cap;
  const char* unit = view.in_seconds ? " s" : "";
  const double above = rest(simulation.makespan, simulation.bound);
  const std::string within = cap ? " that holds at most " + number(*cap) : "";
  std::string text = headline(view.schedule, simulation) + "\n\n";
  text += fmt::format("makespan       {}{}\n",
                      shown_time(simulation.makespan, view), unit);
  if (view.expected) {
    text += fmt::format(
        "expected       {}   (times vary by {:.1f} %, and the slower one of "
        "the "
        "moment counts)\n",
        shown_time(*view.expected, view), 100 * view.jitter);
  }
  text += fmt::format("ideal          {}   (the busiest worker's compute)\n",
                      shown_time(simulation.ideal, view));
  text += fmt::format(
      "bound          {}   (no order on this placement{} is faster; this one "
      "is {} = {:.1f} % above)\n",
      shown_time(simulation.bound, view), within, shown_time(above, view),
      percent_of(above, simulation.bound));
  if (simulation.ideal > simulation.bound * (1 + 1e-9)) {
    text +=
        "               (for the bound, sharing processors slows no work "
        "down)\n";
  }
  text +=
      fmt::format("bubble         {:.1f} %\n", 100 * simulation.bubble_ratio);
  if (simulation.trace.steps > 1) {
    text += fmt::format("steady period  {}   (what one more step takes)\n",
                        shown_time(simulation.period, view));
    const double late = rest(simulation.period, simulation.period_bound);
    text += fmt::format(
        "period bound   {}   (no order on this placement{} has a shorter "
        "period; this one is {} = {:.1f} % above)\n",
        shown_time(simulation.period_bound, view), within,
        shown_time(late, view), percent_of(late, simulation.period_bound));
  }
  if (view.expected_period) {
    text += fmt::format(
        "expected       {}   (the mean period with times that vary so)\n",
        shown_time(*view.expected_period, view));
  }
  if (is_asynchronous(view.schedule)) {
    text += fmt::format(
        "window         {}   (all {} micro-batches, from the full pipe to the "
        "end of the drain)\n",
        shown_time(simulation.window, view),
        simulation.trace.steps * view.schedule.micros);
  }
  if (view.paper) {
    text +=
        fmt::format("paper's form   {}   ({:+.1f} % against the simulator)\n",
                    shown_time(*view.paper, view),
                    100 * (*view.paper / simulation.period - 1));
  }
  text += "critical path  " + critical_path(view) + "\n\n";
  return text + worker_table(view);
}

std::string simulation_json(const SimulationView& view) {
  const Simulation& simulation = view.simulation;
  std::vector<std::string> rows;
  for (size_t worker = 0; worker < simulation.workers.size(); ++worker) {
    const WorkerStats& stats = simulation.workers[worker];
    const std::string bytes =
        view.peak_bytes.empty()
            ? "null"
            : fmt::format("{:.0f}", view.peak_bytes[worker]);
    rows.push_back(fmt::format(R"({{"busy":{},"idle":{},"first":{},"last":{},)"
                               R"("peak_activations":{},"peak_bytes":{}}})",
                               number(stats.busy),
                               number(rest(simulation.makespan, stats.busy)),
                               number(stats.first), number(stats.last),
                               number(stats.peak_activations), bytes));
  }
  return fmt::format(
      "{{\"makespan\":{},{}\"ideal\":{},\"bound\":{},\"bubble_ratio\":{},"
      "\"steps\":{},\"period\":{},{}{}{}{}\n \"workers\":[\n  {}]}}\n",
      number(simulation.makespan),
      view.expected ? "\"expected\":" + number(*view.expected) + "," : "",
      number(simulation.ideal), number(simulation.bound),
      number(simulation.bubble_ratio), simulation.trace.steps,
      number(simulation.period),
      simulation.trace.steps > 1
          ? "\"period_bound\":" + number(simulation.period_bound) + ","
          : "",
      view.expected_period
          ? "\"expected_period\":" + number(*view.expected_period) + ","
          : "",
      is_asynchronous(view.schedule)
          ? "\"window\":" + number(simulation.window) + ","
          : "",
      view.paper ? "\"paper\":" + number(*view.paper) + "," : "",
      join(rows, ",\n  "));
}

}  // namespace chimera
