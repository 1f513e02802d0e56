// chimera._core: the torch-free half of the Python package.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <stdexcept>

#include "chimera/base/result.h"

namespace chimera::python {

// A wrong request; becomes a chimera.Error in Python.
struct Refused : std::runtime_error {
  explicit Refused(Diagnostics all)
      : std::runtime_error("refused"), diagnostics(std::move(all)) {}
  Diagnostics diagnostics;
};

template <class T>
T value_or_raise(Result<T> result) {
  if (!result) throw Refused(result.errors());
  return std::move(result).value();
}

// Tuples of (code, where, found, needed, hint).
[[nodiscard]] pybind11::list to_tuples(const Diagnostics& diagnostics);

void bind_schedule(pybind11::module_& module);
void bind_simulation(pybind11::module_& module);
void bind_plan(pybind11::module_& module);

}  // namespace chimera::python
