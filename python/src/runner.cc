#include "runner.h"

#include <ATen/ThreadLocalState.h>

#include <algorithm>
#include <limits>

#include "chimera/exec/run_threads.h"
#include "chimera/trace/merge.h"

namespace chimera::python {

namespace py = pybind11;

namespace {

// When all ranks are threads of this process, only a layer that never returns
// can exceed this deadline.
constexpr std::chrono::hours kThreadsDeadline{24};

std::vector<std::string> rank_names(const Schedule& schedule) {
  std::vector<std::string> names;
  for (int rank = 0; rank < num_ranks(schedule); ++rank) {
    names.push_back("rank " + std::to_string(rank));
  }
  return names;
}

}  // namespace

Runner::Runner(Schedule lowered)
    : lowered_(std::move(lowered)),
      forward_(forward_only(lowered_)),
      events_(num_ranks(lowered_)) {}

Runner::Runner(Schedule lowered, C10dOptions options)
    : Runner(std::move(lowered)) {
  transport_ = make_c10d_transport(std::move(options));
}

// The transport waits for threads that may free tensors of Python's, for which
// they need the GIL.
Runner::~Runner() {
  if (!transport_) return;
  const py::gil_scoped_release released;
  transport_.reset();
}

void Runner::run_rank(Transport& transport, StageCompute& compute,
                      const Step& step, double& loss) {
  WorkerOptions options;
  options.recorder.keep_events = true;
  options.rank_names = rank_names(lowered_);
  options.steps_before = step.stretch.training ? step.stretch.first : 0;
  options.on_vote = [&](const VoteResult& result) {
    loss = result.ballot.loss;
  };
  Worker worker(transport, compute, options);
  const Program program(step.stretch.training ? lowered_ : forward_,
                        transport.rank());
  worker.run(program, step.stretch);
  if (!step.stretch.training) return;
  std::vector<Event> events = worker.recorder().events();
  for (Event& event : events) event.step -= step.stretch.first;
  events_[transport.rank()] = std::move(events);
}

double Runner::run(const py::list& ranks,
                   const std::vector<Boundary>& boundaries, bool training) {
  int& count = training ? steps_ : evaluations_;
  const Step step{boundaries,
                  {.first = count,
                   .end = count + 1,
                   .training = training,
                   .after = steps_}};
  ++count;
  std::vector<double> losses(num_ranks(lowered_));
  const auto make = [&](int index, int rank) {
    const py::gil_scoped_acquire gil;
    return make_python_compute(ranks[index], {lowered_, rank, boundaries});
  };
  // torch.autocast and the like hold for one thread: the caller's.
  const at::ThreadLocalState of_caller;
  const py::gil_scoped_release released;
  if (transport_) {
    const auto compute = make(0, transport_->rank());
    run_rank(*transport_, *compute, step, losses[0]);
  } else {
    run_workers(
        {.ranks = num_ranks(lowered_), .deadline = kThreadsDeadline},
        [&](int rank) { return make(rank, rank); },
        [&](Transport& transport, StageCompute& compute) {
          const at::ThreadLocalStateGuard as_caller(of_caller);
          run_rank(transport, compute, step, losses[transport.rank()]);
        });
  }
  return losses[0];
}

double Runner::sum(double value) {
  if (!transport_) return value;
  const py::gil_scoped_release released;
  const VoteId id{sums_++, Channel::kMeeting};
  transport_->start_vote(id, {.squared_norm = value});
  return transport_->wait_vote(id).ballot.squared_norm;
}

Trace merged(const Schedule& lowered, std::vector<std::vector<Event>> by_rank) {
  double start = std::numeric_limits<double>::infinity();
  for (const auto& events : by_rank) {
    for (const Event& event : events) start = std::min(start, event.start);
  }
  for (auto& events : by_rank) {
    for (Event& event : events) {
      event.start -= start;
      event.end -= start;
    }
  }
  return merge_ranks(lowered, by_rank, 1);
}

}  // namespace chimera::python
