// Measures how long it takes to make, validate, lower and simulate a schedule.
// Limits:
//   D=64, N=1024 under 1 s; 2,048 workers x 64 micro-batches about 1 s;
//   linear in the number of actions (items_per_second stays flat).
#include <benchmark/benchmark.h>

#include "chimera/schedule/lower.h"
#include "chimera/schedule/scheme.h"
#include "chimera/schedule/validate.h"
#include "chimera/search/search_order.h"
#include "chimera/simulate/simulate.h"

namespace chimera {
namespace {

void run_all(benchmark::State& state, const ScheduleSpec& spec) {
  size_t actions = 0;
  for (auto _ : state) {
    const Schedule schedule = make_schedule(spec).value();
    const bool sound = validate(schedule).empty();
    const Schedule lowered = lower(schedule);
    const bool sound_lowered = validate(lowered).empty();
    const Costs costs = uniform_costs(schedule, {.latency = 0.1});
    const Simulation simulation = simulate(lowered, costs);
    if (!sound || !sound_lowered) state.SkipWithError("does not validate");
    benchmark::DoNotOptimize(simulation.makespan);
    actions = num_actions(lowered);
  }
  state.counters["actions"] = static_cast<double>(actions);
  state.SetItemsProcessed(
      static_cast<std::int64_t>(actions * state.iterations()));
}

// Generate + validate + lower + validate + simulate.
void all_steps(benchmark::State& state, const char* scheme) {
  run_all(state, {.scheme = scheme,
                  .depth = static_cast<int>(state.range(0)),
                  .micros = static_cast<int>(state.range(1)),
                  .width = static_cast<int>(state.range(2))});
}

void layouts(benchmark::internal::Benchmark* bench) {
  bench
      ->Args({64, 1024, 1})  // must take under 1 s
      ->Args({32, 64, 64})   // 2,048 workers as 64 copies
      ->Args({2048, 64, 1})  // 2,048 workers in one pipe
      ->ArgNames({"D", "N", "W"})
      ->Unit(benchmark::kMillisecond);
}

// Four sizes, each four times the one before.
void growth(benchmark::internal::Benchmark* bench) {
  bench->Args({16, 64, 1})
      ->Args({16, 256, 1})
      ->Args({32, 512, 1})
      ->Args({64, 1024, 1})
      ->ArgNames({"D", "N", "W"})
      ->Unit(benchmark::kMillisecond);
}

BENCHMARK_CAPTURE(all_steps, chimera, "chimera")->Apply(layouts);
BENCHMARK_CAPTURE(all_steps, 1f1b, "1f1b")->Apply(layouts);
BENCHMARK_CAPTURE(all_steps, zb_v, "zb-v")->Apply(layouts);
BENCHMARK_CAPTURE(all_steps, hanayo, "hanayo")->Apply(layouts);
BENCHMARK_CAPTURE(all_steps, growth_chimera, "chimera")->Apply(growth);
BENCHMARK_CAPTURE(all_steps, growth_zb_h1, "zb-h1")->Apply(growth);

// Planned orders. Limits: the first order of D=64, N=256 under 0.5 s; planning
// D=16, N=64 with message delay under 2 s.
ScheduleSpec planned(const benchmark::State& state) {
  return {.scheme = "planned",
          .depth = static_cast<int>(state.range(0)),
          .micros = static_cast<int>(state.range(1))};
}

void first_order(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(make_schedule(planned(state)).value());
  }
}

void plan_with_delay(benchmark::State& state, bool steady) {
  const Schedule first = make_schedule(planned(state)).value();
  const Costs costs = uniform_costs(first, {.latency = 0.25});
  const double cap = first.depth;
  for (auto _ : state) {
    benchmark::DoNotOptimize(search_order(
        first, costs, {.cap = {.activations = cap}, .steady = steady}));
  }
}

BENCHMARK(first_order)
    ->Args({64, 256})
    ->ArgNames({"D", "N"})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(plan_with_delay, step, false)
    ->Args({16, 64})
    ->ArgNames({"D", "N"})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(plan_with_delay, steady, true)
    ->Args({16, 64})
    ->ArgNames({"D", "N"})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace chimera
