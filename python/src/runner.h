// Runs the steps of a pipeline: this process as one rank of torch.distributed,
// or all ranks as threads.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "chimera/c10d/c10d_transport.h"
#include "chimera/exec/program.h"
#include "chimera/exec/worker.h"
#include "python_compute.h"

namespace chimera::python {

class Runner {
 public:
  // Runs all ranks as threads.
  explicit Runner(Schedule lowered);
  // Runs this process as one rank.
  Runner(Schedule lowered, C10dOptions options);
  // REQUIRES: the GIL is held.
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  // Runs one step, or the evaluation of one mini-batch. `ranks` are the Ranks
  // of this process. Returns the loss over all ranks. REQUIRES: the GIL is
  // held.
  double run(const pybind11::list& ranks,
             const std::vector<Boundary>& boundaries, bool training);

  // Returns the sum of `value` over all ranks, all of which call it. REQUIRES:
  // the GIL is held.
  double sum(double value);

  // [rank of this process]: its events in the last step.
  [[nodiscard]] std::vector<std::vector<Event>> take_events() {
    return events_;
  }

 private:
  struct Step {
    const std::vector<Program>& programs;  // [rank]
    Stretch stretch;
  };
  void run_rank(Transport& transport, StageCompute& compute, const Step& step,
                double& loss);

  Schedule lowered_;
  Schedule forward_;                // the forwards of lowered_, for evaluations
  std::vector<Program> trainings_;  // [rank], of lowered_
  std::vector<Program> evaluations_;  // [rank], of forward_
  WorkerOptions options_;
  int steps_ = 0;
  int evaluated_ = 0;
  int sums_ = 0;
  std::vector<std::vector<Event>> events_;
  std::unique_ptr<Transport> transport_;  // null: threads
};

// Merges the events of all ranks into one trace that starts at time 0.
[[nodiscard]] Trace merged(const Schedule& lowered,
                           std::vector<std::vector<Event>> by_rank);

}  // namespace chimera::python
