// Compares periods when the times of actions vary: simulated, and measured with
// emulated stages that vary by the same random numbers. F = I = 10 ms,
// W = 5 ms, links 0.5 ms, D = 8, N = 32, threads; 20 steps after the first.
//   build/jitter_bench [JITTER ...]     (default 0 0.05 0.1)
//
// Limits: measured within 3 % of simulated; planned without jitter at most
// 1.02 x simulated.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "bench/step_times.h"
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
constexpr int kPlay = 1;
constexpr double kLatency = 0.0005;

Trace measure(const Schedule& lowered, const Costs& costs, double jitter) {
  std::vector<std::vector<Event>> events(lowered.workers());
  const Clock::time_point epoch = Clock::now();
  run_workers(
      {.ranks = lowered.workers(),
       .links = make_emulated_links(costs, lowered.workers())},
      [&](int) {
        return make_emulated(lowered, emulated_stages(costs), {jitter, kPlay});
      },
      [&](Transport& transport, StageCompute& compute) {
        const int rank = transport.rank();
        Worker worker(transport, compute,
                      {.recorder = {.keep_events = true, .epoch = epoch}});
        worker.run(Program(lowered, rank), {.end = kSteps});
        events[rank] = worker.recorder().events();
      });
  return merge_ranks(lowered, events, kSteps);
}

// Prints a row. True if the limits are met.
bool compare(const std::string& scheme, double jitter) {
  const ScheduleSpec spec{.scheme = scheme, .depth = 8, .micros = 32};
  const Schedule start = make_schedule(spec).value();
  const Costs costs = uniform_costs(start, {.forward = 0.010,
                                            .backward = 0.015,
                                            .weight_grad = 0.005,
                                            .latency = kLatency});
  const Schedule lowered = lower(make_order(
      {.spec = spec, .steady = true, .jitter = jitter}, start, costs));
  const double simulated =
      mean_step(simulate(lowered, costs,
                         {.steps = kSteps, .jitter = jitter, .play = kPlay})
                    .trace);
  const double measured = mean_step(measure(lowered, costs, jitter));
  const double ratio = measured / simulated;
  fmt::print("| {} | {:.0f} % | {:.1f} | {:.1f} | {:.4f} |\n", scheme,
             100 * jitter, simulated * 1e3, measured * 1e3, ratio);
  std::fflush(stdout);
  if (jitter == 0 && scheme == "planned") return ratio <= 1.02;
  return std::abs(ratio - 1) <= 0.03;
}

int run_all(const std::vector<double>& jitters) {
  fmt::print(
      "| scheme | jitter | simulated ms | measured ms | ratio |\n"
      "|---|---|---|---|---|\n");
  bool met = true;
  for (const double jitter : jitters) {
    for (const char* scheme : {"planned", "chimera", "1f1b", "zb-v"}) {
      met &= compare(scheme, jitter);
    }
  }
  fmt::print("\n{}\n", met ? "all limits met" : "A LIMIT IS MISSED");
  return met ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace chimera

int main(int argc, char** argv) {
  std::vector<double> jitters;
  for (int i = 1; i < argc; ++i) jitters.push_back(std::atof(argv[i]));
  if (jitters.empty()) jitters = {0, 0.05, 0.1};
  return chimera::run_all(jitters);
}
