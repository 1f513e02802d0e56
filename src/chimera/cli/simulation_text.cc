#include "chimera/cli/simulation_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "chimera/base/text.h"
#include "chimera/cli/drawing.h"

namespace chimera {
namespace {

// What is left of `whole`, with the rounding dust of equal times taken away.
double rest(double whole, double part) {
  const double left = whole - part;
  return std::abs(left) < 1e-9 * whole ? 0 : left;
}

// How much of the critical path each kind of event takes.
std::string critical_path(const Simulation& simulation) {
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
                     number(compute), number(messages), number(sums),
                     join(workers, " "));
}

std::string worker_table(const Simulation& simulation) {
  constexpr size_t kMost = 64;
  std::string text =
      fmt::format("{:>6} {:>10} {:>10} {:>10} {:>10} {:>6}\n", "worker", "busy",
                  "idle", "first", "last", "peak");
  const size_t rows = std::min(kMost, simulation.workers.size());
  for (size_t worker = 0; worker < rows; ++worker) {
    const WorkerStats& stats = simulation.workers[worker];
    text += fmt::format(
        "{:>6} {:>10} {:>10} {:>10} {:>10} {:>6}\n", worker, number(stats.busy),
        number(rest(simulation.makespan, stats.busy)), number(stats.first),
        number(stats.last), number(stats.peak_activations));
  }
  if (rows < simulation.workers.size()) {
    text += fmt::format("   ... {} more; --format json has all\n",
                        simulation.workers.size() - rows);
  }
  return text;
}

}  // namespace

std::string simulation_text(const Schedule& schedule,
                            const Simulation& simulation,
                            std::optional<double> cap) {
  const double above = rest(simulation.makespan, simulation.bound);
  const double share = simulation.bound > 0 ? above / simulation.bound : 0;
  std::string text = headline(schedule, simulation) + "\n\n";
  text += fmt::format("makespan       {}\n", number(simulation.makespan));
  text += fmt::format("ideal          {}   (the busiest worker's compute)\n",
                      number(simulation.ideal));
  text += fmt::format(
      "bound          {}   (no order on this placement{} is faster; this one "
      "is {} = {:.1f} % above)\n",
      number(simulation.bound),
      cap ? " that holds at most " + number(*cap) : "", number(above),
      100 * share);
  text +=
      fmt::format("bubble         {:.1f} %\n", 100 * simulation.bubble_ratio);
  if (simulation.trace.steps > 1) {
    text += fmt::format("steady period  {}   (the last of {} steps)\n",
                        number(simulation.period), simulation.trace.steps);
  }
  text += "critical path  " + critical_path(simulation) + "\n\n";
  return text + worker_table(simulation);
}

std::string simulation_json(const Simulation& simulation) {
  std::vector<std::string> rows;
  for (const WorkerStats& stats : simulation.workers) {
    rows.push_back(fmt::format(R"({{"busy":{},"idle":{},"first":{},"last":{},)"
                               R"("peak_activations":{},"peak_bytes":null}})",
                               number(stats.busy),
                               number(rest(simulation.makespan, stats.busy)),
                               number(stats.first), number(stats.last),
                               number(stats.peak_activations)));
  }
  return fmt::format(
      "{{\"makespan\":{},\"ideal\":{},\"bound\":{},\"bubble_ratio\":{},"
      "\"steps\":{},\"period\":{},\n \"workers\":[\n  {}]}}\n",
      number(simulation.makespan), number(simulation.ideal),
      number(simulation.bound), number(simulation.bubble_ratio),
      simulation.trace.steps, number(simulation.period), join(rows, ",\n  "));
}

}  // namespace chimera
