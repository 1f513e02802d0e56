// StageCompute on Python modules: python/chimera/torch/_rank.py computes, the
// C++ runtime decides when.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include <memory>
#include <vector>

#include "chimera/exec/stage_compute.h"
#include "chimera/schedule/micro_index.h"
#include "chimera/schedule/schedule.h"
#include "tensors_payload.h"

namespace chimera::python {

struct PythonComputeOptions {
  const Schedule& lowered;
  int rank = 0;
  const std::vector<Boundary>& boundaries;  // [stage that sends it]
};

// Takes the GIL around calls into Python. `rank_compute` is a Rank of _rank.py.
[[nodiscard]] std::unique_ptr<StageCompute> make_python_compute(
    const pybind11::object& rank_compute, const PythonComputeOptions& options);

}  // namespace chimera::python
