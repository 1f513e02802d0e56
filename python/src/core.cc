#include "core.h"

namespace chimera::python {

namespace py = pybind11;

py::list to_tuples(const Diagnostics& diagnostics) {
  py::list tuples;
  for (const Diagnostic& each : diagnostics) {
    tuples.append(py::make_tuple(each.code, each.where, each.found, each.needed,
                                 each.hint));
  }
  return tuples;
}

}  // namespace chimera::python

PYBIND11_MODULE(_core, module) {
  namespace py = pybind11;
  using namespace chimera::python;

  module.doc() = "Schedules, simulation and planning. Import chimera instead.";
  py::register_local_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const Refused& refused) {
      const py::object error =
          py::module_::import("chimera._error")
              .attr("Error")(to_tuples(refused.diagnostics));
      PyErr_SetObject(py::type::handle_of(error).ptr(), error.ptr());
    }
  });
  bind_schedule(module);
  bind_simulation(module);
  bind_plan(module);
}
