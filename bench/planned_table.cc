// Compares planned orders with named schedules over a grid of costs, at the
// same cap and with no more weight copies; prints a table for
// docs/planned-orders.md and fails if a planned order is slower than any of
// them.
//   build/planned_table [DEPTH ...]     (default 8 16)
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "chimera/base/text.h"
#include "chimera/schedule/scheme.h"
#include "chimera/search/search_order.h"
#include "chimera/simulate/simulate.h"

namespace chimera {
namespace {

struct CostCase {
  double message = 0;
  double input_grad = 1;
  double weight_grad = 1;
  double last_stage = 1;  // its cost relative to other stages
  bool recompute = false;
};

std::vector<CostCase> cost_cases() {
  std::vector<CostCase> cases;
  for (const double message : {0.0, 0.1, 0.25, 0.5}) {
    for (const double input_grad : {1.0, 1.2, 1.5}) {
      const CostCase plain{.message = message,
                           .input_grad = input_grad,
                           .weight_grad = 2 - input_grad};
      CostCase heavy = plain;
      heavy.last_stage = 1.5;
      CostCase recomputing = plain;
      recomputing.recompute = true;
      cases.insert(cases.end(), {plain, heavy, recomputing});
    }
  }
  return cases;
}

// One section of the table: one depth, one N, one set of costs.
struct Setting {
  int depth = 0;
  int micros = 0;
  CostCase costs;
};

Costs costs_of(const Schedule& schedule, const CostCase& of) {
  Costs costs =
      uniform_costs(schedule, {.backward = of.input_grad + of.weight_grad,
                               .weight_grad = of.weight_grad,
                               .latency = of.message});
  StageCosts& last = costs.stages.back();
  last.forward *= of.last_stage;
  last.input_grad *= of.last_stage;
  last.weight_grad *= of.last_stage;
  return costs;
}

struct Figure {
  std::string name;
  double makespan = 0;
  double bound = 0;
  double peak = 0;
};

Figure play(const Schedule& schedule, const Setting& setting, double cap) {
  const Costs costs = costs_of(schedule, setting.costs);
  const Schedule lowered =
      lower(schedule, {.recompute = setting.costs.recompute, .costs = &costs});
  const Simulation simulation = simulate(lowered, costs, {.cap = cap});
  double peak = 0;
  for (const WorkerStats& worker : simulation.workers) {
    peak = std::max(peak, worker.peak_activations);
  }
  return {schedule.scheme, simulation.makespan, simulation.bound, peak};
}

Figure plan(const Setting& setting, int pipes, Shape shape, double cap) {
  const Schedule first = make_schedule({.scheme = "planned",
                                        .depth = setting.depth,
                                        .micros = setting.micros,
                                        .pipes = pipes,
                                        .shape = shape,
                                        .cap = cap})
                             .value();
  const Schedule planned =
      search_order(first, costs_of(first, setting.costs),
                   {.cap = {.activations = cap},
                    .lowering = {.recompute = setting.costs.recompute}});
  return play(planned, setting, cap);
}

// The fastest of the named schemes that fit the memory.
std::optional<Figure> best_named(const Setting& setting, int copies,
                                 double cap) {
  struct Named {
    const char* scheme;
    Scale scale;
  };
  std::optional<Figure> best;
  for (const Named& named :
       {Named{"1f1b", Scale::kDirect}, Named{"interleaved", Scale::kDirect},
        Named{"chimera", Scale::kDirect}, Named{"chimera", Scale::kDoubling},
        Named{"chimera", Scale::kHalving}, Named{"zb-h1", Scale::kDirect},
        Named{"zb-v", Scale::kDirect}, Named{"dualpipe", Scale::kDirect},
        Named{"dualpipe-v", Scale::kDirect}, Named{"hanayo", Scale::kDirect}}) {
    const Result<Schedule> schedule = make_schedule({.scheme = named.scheme,
                                                     .depth = setting.depth,
                                                     .micros = setting.micros,
                                                     .scale = named.scale});
    if (!schedule || schedule->pipes() > copies) continue;
    Figure figure = play(*schedule, setting, cap);
    if (figure.peak > cap + 1e-9) continue;
    if (named.scale != Scale::kDirect) {
      figure.name += fmt::format(" {}", name_of(named.scale));
    }
    if (!best || figure.makespan < best->makespan) best = figure;
  }
  return best;
}

// A cell "27 (27) < 31 zb-h1": planned, its bound, the best named scheme.
std::string cell(const Figure& planned, const std::optional<Figure>& named,
                 int& slower) {
  std::string text = number(planned.makespan);
  if (planned.makespan > planned.bound * (1 + 1e-9)) {
    text += fmt::format(" ({})", number(planned.bound));
  }
  if (!named) return text;
  const bool is_slower = planned.makespan > named->makespan * (1 + 1e-9);
  slower += is_slower ? 1 : 0;
  return fmt::format("{} | {}{} {}", text, is_slower ? "**SLOWER** " : "",
                     number(named->makespan), named->name);
}

std::string costs_text(const CostCase& costs) {
  std::string text =
      fmt::format("{} | {}:{}", number(costs.message), number(costs.input_grad),
                  number(costs.weight_grad));
  if (costs.last_stage != 1) return text + " | last stage 1.5x";
  return text + (costs.recompute ? " | recompute" : " | ");
}

int print_table(int depth) {
  int slower = 0;
  fmt::print(
      "\n## D = {0}, cap {0} (and {1})\n\n"
      "| N | message | I:W | | two pipes | best named, 2 copies | cap {1} | "
      "best named | one pipe, vee | best named, 1 copy |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n",
      depth, depth + 1);
  for (const int micros : {depth, 2 * depth, 3 * depth}) {
    for (const CostCase& costs : cost_cases()) {
      const Setting setting{depth, micros, costs};
      const double cap = depth;
      fmt::print("| {} | {} | {} | {} | {} |\n", micros, costs_text(costs),
                 cell(plan(setting, 2, Shape::kLinear, cap),
                      best_named(setting, 2, cap), slower),
                 cell(plan(setting, 2, Shape::kLinear, cap + 1),
                      best_named(setting, 2, cap + 1), slower),
                 cell(plan(setting, 1, Shape::kVee, cap),
                      best_named(setting, 1, cap), slower));
      std::fflush(stdout);
    }
  }
  return slower;
}

}  // namespace
}  // namespace chimera

int main(int argc, char** argv) {
  std::vector<int> depths;
  for (int i = 1; i < argc; ++i) depths.push_back(std::atoi(argv[i]));
  if (depths.empty()) depths = {8, 16};
  fmt::print(
      "# Planned orders against named schedules\n\n"
      "Made by `build/planned_table`: time of one step, F = 1 of one D-th of "
      "the model, I + W = 2, a message's delay in F. \"Best named\" is the "
      "fastest of 1f1b, interleaved, chimera (three modes), zb-h1, zb-v, "
      "dualpipe, dualpipe-v and hanayo with no more weight copies, under the "
      "same cap. In brackets the lower bound, where it is not met.\n");
  int slower = 0;
  for (const int depth : depths) slower += chimera::print_table(depth);
  fmt::print("\n{} planned orders slower than a named schedule\n", slower);
  return slower == 0 ? 0 : 1;
}
