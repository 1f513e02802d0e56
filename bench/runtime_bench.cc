// Compares measured steps with the simulator: emulated stages of 10 ms actions
// on the real runtime. Median of 20 steps, best of 3 runs.
//   build/runtime_bench [links]     (links: only those with two levels)
//
// Limits: measured <= 1.02 x simulated, over links with two levels <= 1.03 x;
// with clipping and late votes <= 1.02 x without clipping.
#include <fmt/format.h>

#include <cstdlib>
#include <limits>

#include "bench/step_times.h"
#include "bench/two_levels.h"
#include "chimera/exec/emulated.h"
#include "chimera/exec/emulated_links.h"
#include "chimera/exec/run_threads.h"
#include "chimera/exec/worker.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/scheme.h"
#include "chimera/search/search_order.h"
#include "chimera/simulate/simulate.h"
#include "chimera/trace/merge.h"

namespace chimera {
namespace {

constexpr int kSteps = 21;  // the first is left out: the pipeline is cold
constexpr int kRuns = 3;
constexpr double kAction = 0.010;

struct Measured {
  double step_s = std::numeric_limits<double>::infinity();  // median
  double mean_s = 0;
  std::vector<double> peaks;
};

Measured run_once(const Schedule& lowered, const Costs& costs) {
  const int ranks = num_ranks(lowered);
  std::vector<std::vector<Event>> events(ranks);
  Measured measured;
  measured.peaks.resize(ranks);
  const Clock::time_point epoch = Clock::now();
  run_workers(
      {.ranks = ranks, .links = make_emulated_links(costs, ranks)},
      [&](int) { return make_emulated(lowered, emulated_stages(costs)); },
      [&](Transport& transport, StageCompute& compute) {
        const int rank = transport.rank();
        Worker worker(transport, compute,
                      {.recorder = {.keep_events = true, .epoch = epoch}});
        worker.run(Program(lowered, rank), {.end = kSteps});
        events[rank] = worker.recorder().events();
        measured.peaks[rank] = worker.peak_activations();
      });
  const Trace trace = merge_ranks(lowered, events, kSteps);
  measured.step_s = median_step(trace);
  measured.mean_s = mean_step(trace);
  return measured;
}

// Updates wait for the vote of all workers.
bool waits(const LowerOptions& lowering) {
  return lowering.vote_gates_update && !lowering.late_vote;
}

Schedule make(const ScheduleSpec& spec, const LowerOptions& lowering) {
  Schedule made = make_schedule(spec).value();
  if (!depends_on_costs(made)) return made;
  return search_order(made, uniform_costs(made, {}),
                      {.cap = {.activations = *resolve(spec)->cap},
                       .steady = !waits(lowering),
                       .lowering = lowering});
}

struct Comparison {
  double step_s = 0;    // measured
  bool is_met = false;  // the step is within its limit
};

Comparison compare(const Schedule& lowered, const Costs& costs,
                   const std::string& name, double limit) {
  const Simulation simulation = simulate(lowered, costs, {.steps = kSteps});
  const double simulated = median_step(simulation.trace);
  Measured best;
  bool same_peaks = true;
  for (int run = 0; run < kRuns; ++run) {
    const Measured measured = run_once(lowered, costs);
    if (measured.step_s < best.step_s) best = measured;
    for (int worker = 0; worker < lowered.workers(); ++worker) {
      same_peaks &=
          measured.peaks[worker] == simulation.workers[worker].peak_activations;
    }
  }
  const double ratio = best.step_s / simulated;
  const double mean_ratio = best.mean_s / mean_step(simulation.trace);
  fmt::print("| {} | {} | {} | {:.2f} | {:.2f} | {:.4f} | {:.4f} | {} |\n",
             name, lowered.depth, lowered.micros, simulated * 1e3,
             best.step_s * 1e3, ratio, mean_ratio,
             same_peaks ? "equal" : "DIFFER");
  std::fflush(stdout);
  return {best.step_s, ratio <= limit && same_peaks};
}

Comparison compare(const ScheduleSpec& spec, const LowerOptions& options = {}) {
  const Schedule lowered = lower(make(spec, options), options);
  std::string name = spec.scheme;
  if (options.vote_gates_update) name += ", clipping";
  if (options.late_vote) name += ", late votes";
  return compare(
      lowered,
      uniform_costs(lowered, {.forward = kAction, .backward = 2 * kAction}),
      name, 1.02);
}

void print_head() {
  fmt::print(
      "\n| scheme | D | N | simulated ms | measured ms | ratio | of means | "
      "peaks |\n|---|---|---|---|---|---|---|---|\n");
}

bool run_links() {
  print_head();
  bool met = true;
  for (const TwoLevels& layout : two_level_layouts()) {
    const Schedule lowered = lower(make_schedule(layout.spec).value());
    met &=
        compare(lowered, two_level_costs(lowered, layout.node_ranks, kAction),
                fmt::format("{}, W = {}, nodes of {}", lowered.scheme,
                            lowered.width, layout.node_ranks),
                1.03)
            .is_met;
  }
  return met;
}

int tell_end(bool met) {
  fmt::print("{}\n", met ? "all limits met" : "A LIMIT IS MISSED");
  return met ? EXIT_SUCCESS : EXIT_FAILURE;
}

int run_all() {
  print_head();
  bool met = true;
  std::string votes;
  for (const char* scheme : {"chimera", "1f1b", "zb-h1"}) {
    met &= compare({.scheme = scheme, .depth = 8, .micros = 8}).is_met;
  }
  met &= compare({.scheme = "dualpipe", .depth = 8, .micros = 16}).is_met;
  for (const int micros : {8, 14}) {
    const ScheduleSpec planned{
        .scheme = "planned", .depth = 8, .micros = micros};
    const Comparison free = compare(planned);
    const Comparison wait = compare(planned, {.vote_gates_update = true});
    const Comparison late =
        compare(planned, {.vote_gates_update = true, .late_vote = true});
    met &= free.is_met && wait.is_met && late.is_met;
    met &= late.step_s <= 1.02 * free.step_s;
    votes += fmt::format(
        "N = {}: a step with clipping takes {:.4f} x one without, with late "
        "votes {:.4f} x\n",
        micros, wait.step_s / free.step_s, late.step_s / free.step_s);
  }
  fmt::print("\n{}", votes);
  return tell_end(run_links() && met);
}

}  // namespace
}  // namespace chimera

int main(int argc, char** argv) {
  const bool links_only = argc > 1 && std::string(argv[1]) == "links";
  return links_only ? chimera::tell_end(chimera::run_links())
                    : chimera::run_all();
}
