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

// Moves the vote of every worker from the end of its list to its last forward,
// where its loss is complete: nobody but the caller updates weights, so the
// vote decides about nothing, and ranks need not wait for each other at the end
// of a step. A vote waits for the sums before it, and stays where it is if
// there were any. ENSURES: the lists finish.
Schedule with_early_votes(Schedule lowered) {
  for (ActionList& list : lowered.actions) {
    const auto is = [](Op op) {
      return [op](const Action& action) { return action.op == op; };
    };
    const auto vote = std::find_if(list.begin(), list.end(), is(Op::kN));
    const auto sum = std::find_if(list.begin(), list.end(), is(Op::kG));
    const auto behind_last_forward =
        std::find_if(list.rbegin(), list.rend(), is(Op::kF)).base();
    if (sum < behind_last_forward || vote < behind_last_forward) continue;
    std::rotate(behind_last_forward, vote, vote + 1);
  }
  return lowered;
}

}  // namespace

Runner::Runner(Schedule lowered)
    : lowered_(with_early_votes(std::move(lowered))),
      forward_(forward_only(lowered_)),
      events_(num_ranks(lowered_)) {
  options_.recorder.keep_events = true;
  options_.rank_names = rank_names(lowered_);
  for (int rank = 0; rank < num_ranks(lowered_); ++rank) {
    trainings_.emplace_back(lowered_, rank);
    evaluations_.emplace_back(forward_, rank);
  }
}

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
  WorkerOptions options = options_;
  options.steps_before = step.stretch.training ? step.stretch.first : 0;
  options.on_vote = [&](const VoteResult& result) {
    loss = result.ballot.loss;
  };
  Worker worker(transport, compute, options);
  worker.run(step.programs[transport.rank()], step.stretch);
  if (!step.stretch.training) return;
  std::vector<Event> events = worker.recorder().events();
  for (Event& event : events) event.step -= step.stretch.first;
  events_[transport.rank()] = std::move(events);
}

double Runner::run(const py::list& ranks,
                   const std::vector<Boundary>& boundaries, bool training) {
  int& count = training ? steps_ : evaluated_;
  const Step step{training ? trainings_ : evaluations_,
                  {.first = count,
                   .end = count + 1,
                   .training = training,
                   .after = steps_}};
  ++count;
  std::vector<double> losses(num_ranks(lowered_));
  const auto make = [&](int index, int rank) {
    const py::gil_scoped_acquire gil;
    return make_python_compute(ranks[index], {step.programs[rank], boundaries});
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
