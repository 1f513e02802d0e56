// StageCompute on Python modules: python/chimera/torch/_rank.py computes, the
// C++ runtime decides when.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include <memory>
#include <vector>

#include "chimera/exec/program.h"
#include "chimera/exec/stage_compute.h"
#include "tensors_payload.h"

namespace chimera::python {

struct PythonComputeOptions {
  const Program& program;
  const std::vector<Boundary>& boundaries;  // [stage that sends it]
};

// Takes the GIL around calls into Python. `rank_compute` is a Rank of _rank.py,
// after its begin(). REQUIRES: the GIL is held; the references outlive the
// result.
[[nodiscard]] std::unique_ptr<StageCompute> make_python_compute(
    const pybind11::object& rank_compute, const PythonComputeOptions& options);

}  // namespace chimera::python
