#include <optional>
#include <string>

#include "chimera/base/files.h"
#include "chimera/base/names.h"
#include "chimera/base/text.h"
#include "chimera/schedule/costs.h"
#include "chimera/schedule/cut.h"
#include "chimera/schedule/forms.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/scheme.h"
#include "chimera/schedule/validate.h"
#include "chimera/search/search_order.h"
#include "core.h"

namespace chimera::python {
namespace {

namespace py = pybind11;

// The enumerator of this name; refuses an unknown name.
template <NamedEnum E>
E named(const char* keyword, const std::string& name) {
  if (const std::optional<E> found = find_named<E>(name)) return *found;
  std::string hint = "one of";
  for (const std::string_view known : names_of(E{})) {
    hint += " " + std::string(known);
  }
  throw Refused({{.code = "E403",
                  .found = std::string(keyword) + "=\"" + name + "\"",
                  .needed = "is unknown",
                  .hint = hint}});
}

// The compute-only schedule; a planned order is optimised for `times`.
Schedule make(ScheduleSpec spec, const std::string& scale,
              const std::optional<std::string>& shape,
              const UniformTimes& times) {
  spec.scale = named<Scale>("scale", scale);
  if (shape) spec.shape = named<Shape>("shape", *shape);
  const py::gil_scoped_release released;
  const Schedule start = value_or_raise(make_schedule(spec));
  const Costs costs = uniform_costs(start, times);
  Schedule schedule = make_order({.spec = spec}, start, costs);
  // Other orders than planned ones do not depend on the cap.
  const std::vector<Violation> violations =
      validate(schedule, {.cap = spec.cap, .omega = omegas(costs)});
  if (!violations.empty()) throw Refused(to_diagnostics(violations));
  return schedule;
}

Schedule parse(const std::string& text, const std::string& name) {
  Schedule schedule = value_or_raise(parse_schedule(text, name));
  const std::vector<Violation> violations = validate(schedule);
  if (!violations.empty()) throw Refused(to_diagnostics(violations));
  return schedule;
}

Schedule load(const std::string& path) {
  return parse(value_or_raise(read_file(path)), path);
}

Schedule lowered(const Schedule& schedule, const std::string& sync,
                 bool recompute, bool recompute_late, bool tied) {
  LowerOptions options{
      .recompute = recompute, .recompute_late = recompute_late, .tied = tied};
  options.sync = named<Sync>("sync", sync);
  if (is_lowered(schedule)) {
    throw Refused({{.code = "E406",
                    .found = "lower()",
                    .needed = "of a schedule that is lowered already",
                    .hint = "leave the call out"}});
  }
  if (tied && is_asynchronous(schedule)) {
    throw Refused(
        {{.code = "E211",
          .found = "tied=True",
          .needed = "is not possible with " + schedule.scheme +
                    ": its first and last stage update at different times"}});
  }
  return lower(schedule, options);
}

void refuse_omega(double omega) {
  if (omega >= 0 && omega <= 1) return;
  throw Refused({{.code = "E403",
                  .found = "omega=" + number(omega),
                  .needed = "must be between 0 and 1"}});
}

py::list scheme_list() {
  py::list list;
  for (const Scheme& scheme : schemes()) {
    py::dict entry;
    entry["name"] = scheme.name;
    entry["alias"] = scheme.alias;
    entry["summary"] = scheme.summary;
    entry["legal"] = scheme.legal;
    entry["makespan"] = scheme.makespan;
    entry["peak_activations"] = scheme.peak;
    entry["weight_copies"] = scheme.weights;
    entry["synchronous"] = scheme.is_synchronous();
    list.append(entry);
  }
  return list;
}

}  // namespace

void bind_schedule(py::module_& module) {
  py::class_<UniformTimes>(module, "Times")
      .def(py::init([](double forward, double backward,
                       std::optional<double> weight_grad, double p2p,
                       double allreduce, double omega) {
             refuse_omega(omega);
             return UniformTimes{.forward = forward,
                                 .backward = backward,
                                 .weight_grad = weight_grad,
                                 .latency = p2p,
                                 .sum_time = allreduce,
                                 .omega = omega};
           }),
           py::arg("forward"), py::arg("backward"), py::arg("weight_grad"),
           py::arg("p2p"), py::arg("allreduce"), py::arg("omega"));

  py::class_<Schedule>(module, "Schedule")
      .def_static(
          "make",
          [](const std::string& scheme, int depth, int micros,
             std::optional<int> pipes, const std::string& scale,
             std::optional<int> chunks, const std::optional<std::string>& shape,
             std::optional<double> cap, int width, const UniformTimes& times) {
            return make({.scheme = scheme,
                         .depth = depth,
                         .micros = micros,
                         .pipes = pipes,
                         .chunks = chunks,
                         .cap = cap,
                         .width = width},
                        scale, shape, times);
          })
      .def_static("load", &load)
      .def_static(
          "parse",
          [](const std::string& text) { return parse(text, "a schedule"); })
      .def("lower", &lowered)
      .def("check",
           [](const Schedule& schedule, std::optional<double> cap,
              double omega) {
             refuse_omega(omega);
             return to_tuples(to_diagnostics(validate(
                 schedule, {.cap = cap,
                            .omega = std::vector(schedule.stages(), omega)})));
           })
      .def("to_json",
           [](const Schedule& schedule) { return to_json(schedule); })
      .def("to_torch_csv",
           [](const Schedule& schedule) {
             return value_or_raise(to_torch_csv(schedule));
           })
      .def("__eq__",
           [](const Schedule& a, const Schedule& b) { return a == b; })
      .def_readonly("scheme", &Schedule::scheme)
      .def_readonly("depth", &Schedule::depth)
      .def_readonly("micros", &Schedule::micros)
      .def_readonly("width", &Schedule::width)
      .def_property_readonly("pipes", &Schedule::pipes)
      .def_property_readonly("stages", &Schedule::stages)
      .def_property_readonly("is_lowered", &is_lowered)
      .def_property_readonly("is_synchronous", [](const Schedule& schedule) {
        return !is_asynchronous(schedule);
      });
  module.def("schemes", &scheme_list);
  module.def("balanced_cut", [](const std::vector<double>& costs, int stages) {
    return balanced_cut(costs, stages);
  });
  module.def("check_cut",
             [](const std::vector<int>& cut, int stages, int layers) {
               return to_tuples(check_cut(cut, stages, layers));
             });
}

}  // namespace chimera::python
