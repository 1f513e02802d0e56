// chimera.torch._runtime: the runtime for torch modules.
#include <torch/csrc/utils/pybind.h>

#include <cstring>

#include "chimera/base/check.h"
#include "chimera/comm/comm_error.h"
#include "chimera/model/split_backward.h"
#include "chimera/report/svg.h"
#include "chimera/schedule/forms.h"
#include "runner.h"
#include "trace_rows.h"

namespace chimera::python {
namespace {

namespace py = pybind11;

// Reads a schedule from text: chimera._core may be built with another pybind11,
// whose C++ types are incompatible with these.
Schedule read(const std::string& json) {
  return parse_json(json, "the schedule").value();
}

// The layout of the ranks, from which Python makes the process groups.
py::dict layout(const std::string& json) {
  const Schedule lowered = read(json);
  py::dict result;
  py::list stages;
  py::list edges;
  for (int rank = 0; rank < num_ranks(lowered); ++rank) {
    const RankPlace place = place_of(lowered, rank);
    stages.append(stages_of(lowered.placement, place.worker));
    std::set<int> peers;
    for (const Action& action : lowered.actions[place.worker]) {
      if (is_send(action.op)) peers.insert(action.peer);
    }
    for (const int peer : peers) {
      edges.append(py::make_tuple(rank, rank_of(lowered, {place.copy, peer})));
    }
  }
  py::list group_stages;
  for (const SumGroup& group : lowered.groups) {
    std::set<int> of_group;
    for (const Member& member : group.members) of_group.insert(member.stage);
    group_stages.append(std::vector<int>(of_group.begin(), of_group.end()));
  }
  result["stages"] = stages;
  result["edges"] = edges;
  result["group_ranks"] = group_ranks(lowered);
  result["group_stages"] = group_stages;
  result["parts"] = lowered.parts;
  return result;
}

std::unique_ptr<Runner> make_rank(
    const std::string& json, const ProcessGroupPtr& world,
    const std::map<std::pair<int, int>, ProcessGroupPtr>& edges,
    const std::vector<std::optional<ProcessGroupPtr>>& sums,
    const c10::intrusive_ptr<c10d::Store>& store, double timeout_s, bool exact,
    const std::string& device) {
  C10dOptions options{.world = world,
                      .edges = edges,
                      .store = store,
                      .deadline = std::chrono::duration<double>(timeout_s),
                      .exact = exact,
                      .device = at::Device(device)};
  for (const auto& group : sums) {
    options.sums.push_back(group.value_or(ProcessGroupPtr()));
  }
  options.while_waiting = [] {  // lets Ctrl-C end a wait
    const py::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  };
  const py::gil_scoped_release released;
  return std::make_unique<Runner>(read(json), std::move(options));
}

// What passes between stages, read from Python once for each shape of x.
struct Boundaries {
  std::vector<Boundary> after_stage;
};

Boundaries read_boundaries(const py::list& given) {
  Boundaries boundaries;
  for (const py::handle& each : given) {
    Boundary& boundary = boundaries.after_stage.emplace_back();
    for (const py::handle& spec : each) {
      const py::tuple fields = py::cast<py::tuple>(spec);
      boundary.push_back({.sizes = fields[0].cast<std::vector<std::int64_t>>(),
                          .dtype = fields[1].cast<at::ScalarType>(),
                          .device = fields[2].cast<at::Device>(),
                          .has_gradient = fields[3].cast<bool>()});
    }
  }
  return boundaries;
}

// Events as bytes, which ranks can send to each other.
py::list event_bytes(Runner& runner) {
  static_assert(std::is_trivially_copyable_v<Event>);
  py::list all;
  for (const std::vector<Event>& events : runner.take_events()) {
    all.append(py::bytes(reinterpret_cast<const char*>(events.data()),
                         events.size() * sizeof(Event)));
  }
  return all;
}

Trace merge_bytes(const std::string& json,
                  const std::vector<std::string>& bytes) {
  std::vector<std::vector<Event>> by_rank;
  for (const std::string& each : bytes) {
    std::vector<Event>& events =
        by_rank.emplace_back(each.size() / sizeof(Event));
    if (!events.empty()) std::memcpy(events.data(), each.data(), each.size());
  }
  return merged(read(json), std::move(by_rank));
}

std::string draw(const Trace& trace, const std::string& title) {
  Trace in_ms = trace;
  for (Event& event : in_ms.events) {
    event.start *= 1e3;
    event.end *= 1e3;
  }
  return draw_svg(in_ms, {.title = title, .time_label = "time (ms)"});
}

void bind_split(py::module_& module) {
  py::class_<WeightGradQueue, std::shared_ptr<WeightGradQueue>>(module,
                                                                "Deferred")
      .def("__len__", &WeightGradQueue::size)
      .def("push", [](WeightGradQueue& queue, py::function work) {
        const std::shared_ptr<py::function> held(
            new py::function(std::move(work)), [](py::function* function) {
              const py::gil_scoped_acquire gil;
              delete function;
            });
        queue.push([held] {
          const py::gil_scoped_acquire gil;
          (*held)();
        });
      });
  module.def(
      "split_linear", [](const at::Tensor& x, const at::Tensor& weight,
                         const std::optional<at::Tensor>& bias, bool in_out,
                         const std::shared_ptr<WeightGradQueue>& deferred) {
        const at::Tensor none;
        return split_linear(
            x,
            {.weight = weight,
             .bias = bias ? *bias : none,
             .layout = in_out ? WeightLayout::kInOut : WeightLayout::kOutIn},
            deferred.get());
      });
  module.def(
      "split_embedding", [](const at::Tensor& indices, const at::Tensor& weight,
                            std::int64_t padding_row,
                            const std::shared_ptr<WeightGradQueue>& deferred) {
        return split_embedding(indices,
                               {.weight = weight, .padding_row = padding_row},
                               deferred.get());
      });
}

}  // namespace
}  // namespace chimera::python

PYBIND11_MODULE(_runtime, module) {
  namespace py = pybind11;
  using namespace chimera;
  using namespace chimera::python;

  module.doc() = "The runtime for torch modules. Import chimera.torch instead.";
  module.attr("torch_version") = CHIMERA_TORCH_VERSION;
  py::register_local_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const CommError& error) {
      py::set_error(
          py::module_::import("chimera.torch._error").attr("PipelineError"),
          error.what());
    }
  });
  module.def("layout", &layout);
  py::class_<Boundaries>(module, "Boundaries").def(py::init(&read_boundaries));
  py::class_<Runner>(module, "Runner")
      .def_static("threads",
                  [](const std::string& json) {
                    return std::make_unique<Runner>(read(json));
                  })
      .def_static("rank", &make_rank)
      .def("run",
           [](Runner& runner, const py::list& ranks,
              const Boundaries& boundaries, bool training) {
             return runner.run(ranks, boundaries.after_stage, training);
           })
      .def("sum", &Runner::sum)
      .def("events", &event_bytes);
  module.def("trace_rows", [](const std::string& json,
                              const std::vector<std::string>& events) {
    return py::bytes(trace_bytes(merge_bytes(json, events)));
  });
  module.def("trace_svg",
             [](const std::string& json, const std::vector<std::string>& events,
                const std::string& title) {
               return draw(merge_bytes(json, events), title);
             });
  bind_split(module);
}
