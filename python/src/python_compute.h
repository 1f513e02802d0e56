// StageCompute on Python modules: what a stage does is in Python
// (python/chimera/torch/_rank.py), when it does it is the runtime's.
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
  const std::vector<Boundary>& boundaries;  // by stage that gives it
};

// Acquires the GIL where it calls Python. `rank_compute` is a Rank of _rank.py.
[[nodiscard]] std::unique_ptr<StageCompute> make_python_compute(
    const pybind11::object& rank_compute, const PythonComputeOptions& options);

}  // namespace chimera::python
