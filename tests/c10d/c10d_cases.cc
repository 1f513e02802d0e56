// A Python module for bits_test.py: Chimera's own models, trained over the
// transport on torch.distributed and as threads of this process.
//
// Gloo's groups can only be made by Python, so this is a module and not a
// program.
#include <torch/csrc/utils/pybind.h>

#include "chimera/c10d/c10d_transport.h"
#include "chimera/schedule/forms.h"
#include "tests/training_cases.h"

namespace chimera::testing {
namespace {

namespace py = pybind11;

struct Case {
  std::string scheme;
  int depth = 2;
  int micros = 2;
  // Selects all other options; see training_cases.h.
  int combination = 0;
  int width = 1;
  bool shard_update = false;
};

std::unique_ptr<RunSetup> setup_of_case(const Case& which) {
  Extras extras = combination(which.combination);
  extras.width = which.width;
  RunConfig config = config_of(
      {.scheme = which.scheme, .depth = which.depth, .micros = which.micros},
      extras);
  config.train.shard_update = which.shard_update;
  config.train.clip = 0.5;
  return setup_of(config);
}

py::tuple to_python(const Outcome& outcome) {
  py::dict weights;
  for (const NamedTensor& each : outcome.weights) {
    weights[py::str(each.name)] = each.value;
  }
  return py::make_tuple(outcome.numbers, weights);
}

py::tuple run_threads(const Case& which) {
  const py::gil_scoped_release released;
  const Outcome outcome = outcome_of(*setup_of_case(which));
  const py::gil_scoped_acquire gil;
  return to_python(outcome);
}

// Trains as one rank. The weights arrive on rank 0 only.
py::tuple run_rank(const Case& which, const py::object& groups) {
  C10dOptions options{
      .world = groups.attr("world").cast<ProcessGroupPtr>(),
      .edges = groups.attr("edges")
                   .cast<std::map<std::pair<int, int>, ProcessGroupPtr>>(),
      .store = groups.attr("store").cast<c10::intrusive_ptr<c10d::Store>>(),
      .deadline = std::chrono::seconds(60),
      .exact = true};
  for (const py::handle& group : groups.attr("sums")) {
    options.sums.push_back(group.is_none() ? ProcessGroupPtr()
                                           : group.cast<ProcessGroupPtr>());
  }
  Outcome outcome;
  {
    const py::gil_scoped_release released;
    const auto transport = make_c10d_transport(std::move(options));
    outcome = outcome_of(*setup_of_case(which), transport.get());
  }
  return to_python(outcome);
}

}  // namespace
}  // namespace chimera::testing

PYBIND11_MODULE(c10d_cases, module) {
  namespace py = pybind11;
  using namespace chimera::testing;
  py::class_<Case>(module, "Case")
      .def(py::init([](std::string scheme, int depth, int micros,
                       int combination, int width, bool shard_update) {
             return Case{std::move(scheme), depth, micros,
                         combination,       width, shard_update};
           }),
           py::arg("scheme"), py::arg("depth"), py::arg("micros"),
           py::arg("combination"), py::arg("width") = 1,
           py::arg("shard_update") = false);
  module.def("lowered", [](const Case& which) {
    return chimera::to_json(setup_of_case(which)->schedule);
  });
  module.def("run_threads", &run_threads);
  module.def("run_rank", &run_rank);
}
