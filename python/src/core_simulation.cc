#include "chimera/base/text.h"
#include "chimera/report/svg.h"
#include "chimera/schedule/costs.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/validate.h"
#include "chimera/simulate/simulate.h"
#include "core.h"
#include "trace_rows.h"

namespace chimera::python {
namespace {

namespace py = pybind11;

// The most events of a simulation; more would take gigabytes.
constexpr double kMostEvents = 5e7;

Diagnostics refuse(const Schedule& schedule, const UniformTimes& times,
                   int steps, int cores) {
  Diagnostics errors;
  const auto refuse_below = [&](const char* name, double given, double least) {
    if (given >= least) return;
    errors.push_back({.code = "E403",
                      .found = name + ("=" + number(given)),
                      .needed = "must be at least " + number(least)});
  };
  refuse_below("forward", times.forward, 0);
  refuse_below("backward", times.backward, 0);
  refuse_below("weight_grad", times.weight_grad.value_or(0), 0);
  refuse_below("p2p", times.latency, 0);
  refuse_below("allreduce", times.sum_time, 0);
  refuse_below("steps", steps, 1);
  refuse_below("cores", cores, 0);
  if (times.weight_grad.value_or(0) > times.backward) {
    errors.push_back(
        {.code = "E406",
         .found = "weight_grad=" + number(*times.weight_grad),
         .needed = "must not be above backward=" + number(times.backward)});
  }
  if (3.0 * static_cast<double>(num_actions(schedule)) * steps > kMostEvents) {
    errors.push_back({.code = "E209",
                      .found = "steps=" + std::to_string(steps),
                      .needed = "of this schedule are too many events",
                      .hint = "use fewer steps"});
  }
  for (const Violation& violation : validate(schedule)) {
    errors.push_back(to_diagnostic(violation));
  }
  return errors;
}

Simulation play(const Schedule& schedule, const UniformTimes& times, int steps,
                int cores) {
  Diagnostics errors = refuse(schedule, times, steps, cores);
  if (!errors.empty()) throw Refused(std::move(errors));
  const py::gil_scoped_release released;
  const Costs costs = uniform_costs(schedule, times);
  const Schedule ready =
      is_lowered(schedule) ? schedule : lower(schedule, {.costs = &costs});
  return simulate(ready, costs, {.steps = steps, .cores = cores});
}

}  // namespace

void bind_simulation(py::module_& module) {
  py::class_<Simulation>(module, "Simulation")
      .def_readonly("makespan", &Simulation::makespan)
      .def_readonly("ideal", &Simulation::ideal)
      .def_readonly("bound", &Simulation::bound)
      .def_readonly("bubble_ratio", &Simulation::bubble_ratio)
      .def_readonly("period", &Simulation::period)
      .def("workers",
           [](const Simulation& simulation) {
             py::list rows;
             for (const WorkerStats& each : simulation.workers) {
               rows.append(py::make_tuple(
                   each.busy, simulation.makespan - each.busy, each.first,
                   each.last, each.peak_activations));
             }
             return rows;
           })
      .def("trace",
           [](const Simulation& simulation) {
             return py::bytes(trace_bytes(simulation.trace));
           })
      .def("svg", [](const Simulation& simulation, const std::string& title) {
        return draw_svg(simulation.trace, {.title = title});
      });
  module.def("simulate", &play);
  py::list names;
  for (int op = 0; op < kNumOps; ++op) {
    names.append(op_name(static_cast<Op>(op)));
  }
  module.attr("op_names") = py::tuple(names);
}

}  // namespace chimera::python
