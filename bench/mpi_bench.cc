// Compares measured steps with the simulator, with one process per worker:
// emulated stages of 10 ms actions over MPI. Start it as
//   mpirun --oversubscribe --bind-to none -n 8 build/mpi_bench [links]
// With `links` only those with two levels are measured.
//
// Limits: a measured step <= 1.05 x simulated (median of 20, best of 3 runs);
// over slow links, the gain of sync = eager-opt over end is within 20 % of the
// simulated gain; over links with two levels <= 1.03 x simulated.
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "bench/ending_handler.h"
#include "bench/step_times.h"
#include "bench/two_levels.h"
#include "chimera/comm/exchange.h"
#include "chimera/exec/emulated.h"
#include "chimera/exec/emulated_links.h"
#include "chimera/exec/worker.h"
#include "chimera/mpi/mpi_transport.h"
#include "chimera/mpi/session.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/scheme.h"
#include "chimera/search/search_order.h"
#include "chimera/simulate/simulate.h"
#include "chimera/trace/merge.h"

namespace chimera {
namespace {

constexpr int kSteps = 21;  // the first is left out
constexpr int kRuns = 3;
constexpr double kAction = 0.010;

class Bench {
 public:
  explicit Bench(const MpiSession& session) : session_(session) {}

  int run_all() {
    tell(kHead);
    bool met = true;
    for (const char* scheme : {"chimera", "1f1b", "zb-h1"}) {
      const Schedule lowered = lower(make(scheme));
      met &= compare_step(lowered, plain_costs(lowered), 1.05);
    }
    for (const int micros : {session_.size(), 2 * session_.size() - 2}) {
      const Schedule lowered = lower(make("planned", micros));
      met &= compare_step(lowered, plain_costs(lowered), 1.05);
    }
    met &= compare_overlap();
    return tell_end(run_links() && met);
  }

  int run_links_only() { return tell_end(run_links()); }

 private:
  static constexpr const char* kHead =
      "| scheme | D | N | W | ranks per node | simulated ms | measured ms | "
      "ratio |\n|---|---|---|---|---|---|---|---|\n";

  [[nodiscard]] int tell_end(bool met) const {
    tell(met ? "all limits met\n" : "A LIMIT IS MISSED\n");
    return met ? EXIT_SUCCESS : EXIT_FAILURE;
  }

  bool run_links() {
    if (session_.size() != 8) return true;  // the layouts have eight ranks
    tell("\n");
    tell(kHead);
    bool met = true;
    for (const TwoLevels& layout : two_level_layouts()) {
      const Schedule lowered = lower(make_schedule(layout.spec).value());
      met &= compare_step(
          lowered, two_level_costs(lowered, layout.node_ranks, kAction), 1.03);
    }
    return met;
  }

  void tell(const std::string& text) const {
    if (session_.rank() == 0) fmt::print("{}", text);
  }

  [[nodiscard]] Schedule make(const std::string& scheme) const {
    return make(scheme, session_.size());
  }
  [[nodiscard]] Schedule make(const std::string& scheme, int micros) const {
    const Schedule made =
        make_schedule(
            {.scheme = scheme, .depth = session_.size(), .micros = micros})
            .value();
    if (!depends_on_costs(made)) return made;
    return search_order(
        made, plain_costs(made),
        {.cap = {.activations = double(session_.size())}, .steady = true});
  }

  static Costs plain_costs(const Schedule& lowered) {
    return uniform_costs(lowered,
                         {.forward = kAction, .backward = 2 * kAction});
  }

  bool compare_step(const Schedule& lowered, const Costs& costs, double limit) {
    const double simulated =
        median_step(simulate(lowered, costs, {.steps = kSteps}).trace);
    const double measured = measure(lowered, costs);
    const double ratio = measured / simulated;
    tell(fmt::format("| {} | {} | {} | {} | {} | {:.2f} | {:.2f} | {:.4f} |\n",
                     lowered.scheme, lowered.depth, lowered.micros,
                     lowered.width,
                     costs.node ? std::to_string(costs.node->ranks) : "",
                     simulated * 1e3, measured * 1e3, ratio));
    return session_.rank() != 0 || ratio <= limit;
  }

  // A sum takes as long as four actions on the link, a message a twentieth of
  // one.
  bool compare_overlap() {
    const Schedule schedule = make("chimera");
    double simulated[2];
    double measured[2];
    const Sync ways[] = {Sync::kEnd, Sync::kEagerOpt};
    for (int way = 0; way < 2; ++way) {
      const Schedule lowered = lower(schedule, {.sync = ways[way]});
      Costs costs = plain_costs(lowered);
      costs.sum_time.reset();
      costs.latency = 1e-4;
      costs.time_per_byte = 1e-8;
      for (StageCosts& stage : costs.stages) {
        stage.gradient_bytes = 4e6;
        stage.boundary_bytes = 5e4;
      }
      simulated[way] =
          median_step(simulate(lowered, costs, {.steps = kSteps}).trace);
      measured[way] = measure(lowered, costs);
    }
    const double gain = measured[0] - measured[1];
    const double expected = simulated[0] - simulated[1];
    tell(fmt::format(
        "\nsync over slow links, chimera D={}: end {:.2f} ms (simulated "
        "{:.2f}), eager-opt {:.2f} ms (simulated {:.2f}); gain {:.2f} ms, "
        "simulated {:.2f}\n",
        schedule.depth, measured[0] * 1e3, simulated[0] * 1e3,
        measured[1] * 1e3, simulated[1] * 1e3, gain * 1e3, expected * 1e3));
    return session_.rank() != 0 || std::abs(gain - expected) <= 0.2 * expected;
  }

  // The median step of the best run; on rank 0.
  double measure(const Schedule& lowered, const Costs& costs) {
    double best = std::numeric_limits<double>::infinity();
    for (int run = 0; run < kRuns; ++run) {
      best = std::min(best, measure_once(lowered, costs));
    }
    return best;
  }

  double measure_once(const Schedule& lowered, const Costs& costs) {
    const auto compute = make_emulated(lowered, emulated_stages(costs));
    BenchEnding ending;
    const auto transport = make_mpi_transport(
        {.deadline = std::chrono::seconds(30),
         .links = make_emulated_links(costs, num_ranks(lowered)),
         .groups = group_ranks(lowered),
         .peers = peer_ranks(lowered, session_.rank()),
         .handler = ending});
    Worker worker(*transport, *compute, {.recorder = {.keep_events = true}});
    worker.run(Program(lowered, session_.rank()), {.end = kSteps});
    const auto events = gather_values(*transport, worker.recorder().events(),
                                      {.channel = Channel::kEvents});
    if (session_.rank() != 0) return 0;
    return median_step(merge_ranks(lowered, events, kSteps));
  }

  const MpiSession& session_;
};

}  // namespace
}  // namespace chimera

int main(int argc, char** argv) {
  const chimera::MpiSession session;
  chimera::Bench bench(session);
  const bool links_only = argc > 1 && std::string(argv[1]) == "links";
  return links_only ? bench.run_links_only() : bench.run_all();
}
