// The runtime. A worker walks its lowered list, round after round, over a
// Transport and a StageCompute. It decides nothing: every send, receive, sum
// and update is an action in the list.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "chimera/comm/comm_error.h"
#include "chimera/exec/flight_recorder.h"
#include "chimera/exec/program.h"
#include "chimera/exec/recorder.h"
#include "chimera/exec/shelf.h"
#include "chimera/exec/stage_compute.h"

namespace chimera {

// The same on every rank, but for the time.
struct VoteResult {
  int step = 0;
  Ballot ballot;
  Clock::time_point started;  // by this rank: the end of its step
};

struct WorkerOptions {
  RecorderOptions recorder = {};
  // Called when the result of a step's vote has been read: at once where
  // updates wait for it, else during the next step.
  std::function<void(const VoteResult& result)> on_vote = {};
  // Called once a step: adds what this rank has to say beside its compute.
  std::function<void(Ballot& ballot)> on_ballot = {};
  FlightRecorder* flight = nullptr;  // may be null
  // What ranks are called in messages: "worker 2" where it is empty.
  std::vector<std::string> rank_names = {};
  int steps_before = 0;  // that the weights have seen
};

// A stretch of steps. Evaluations count their own steps; `offset` keeps their
// messages apart from those of training.
struct Stretch {
  int first = 0;
  int end = 0;
  bool training = true;
  int offset = 0;
  int after = 0;  // of an evaluation: the training steps done, for messages
};

class Worker {
 public:
  Worker(Transport& transport, StageCompute& compute,
         const WorkerOptions& options);

  // Runs the steps of `stretch` and returns the step after the last one run:
  // less than stretch.end if a vote said stop. Nothing is in flight afterwards.
  // Throws CommError, and what `compute` throws.
  int run(const Program& program, const Stretch& stretch);

  // Between stretches: the newest weights of a stage that this worker holds.
  [[nodiscard]] const WeightsPtr& weights(int stage);

  // This rank's share of the training state, between stretches of `program`.
  // `lost` as in StateOrder.
  [[nodiscard]] std::vector<StatePiece> state(const Program& program,
                                              int lost = kNone);

  // After a failure: how many steps' votes this rank has read, and the last.
  // Where updates wait for the vote, all ranks of the run had added up the
  // gradients of these steps.
  [[nodiscard]] int votes_read() const { return votes_read_; }
  [[nodiscard]] const Ballot& last_vote() const { return vote_; }
  // After a failure in step `steps` at the earliest: brings all stages to the
  // state after so many steps; `vote` is that of the last of them.
  void finish_updates(const Program& program, int steps, const Ballot& vote);

  [[nodiscard]] const Recorder& recorder() const { return recorder_; }
  [[nodiscard]] Recorder& recorder() { return recorder_; }
  // The most activations held at once, in D-ths of the model.
  [[nodiscard]] double peak_activations() const { return peak_; }

 private:
  struct Held {
    StashPtr stash;
    int version = 0;
    int parts_done = 0;
  };
  struct Versions {
    WeightsPtr newest;
    WeightsPtr previous;  // only where forwards are one update behind
    int number = 0;       // updates seen by `newest`
  };
  struct OpenSum {
    CollectiveId id;
    Action action;
  };
  struct OpenGather {
    CollectiveId id;
    int stage;  // whose update began it
  };

  void run_rounds();
  void perform(const Action& action, int step);
  void forward(const Action& action, int step);
  void recompute(const Action& action, int step);
  void backward(const Action& action, int step);
  void update(const Action& action, int step);
  void gather_shards(const Action& action, int step);
  void finish_gathers(
      const std::function<bool(const OpenGather& gather)>& is_needed);
  void send(const Action& action, int step);
  void post(const Action& action, int step);
  void start_sum(const Action& action, int step);
  void finish_sum(const CollectiveId& id);
  void start_vote(int step);
  void read_vote();

  [[nodiscard]] PayloadPtr input_of(const Action& action, int step);
  [[nodiscard]] WeightsPtr weights_for(const Action& action, int step,
                                       int& version);
  [[nodiscard]] Versions& versions(int stage);
  void count_held(int change);
  [[nodiscard]] Work work_of(const Action& action, int step) const;
  [[nodiscard]] MessageId message_id(std::size_t index, int step) const;
  // Runs `compute` and records the time it takes.
  template <class Compute>
  auto timed(const Action& action, int step, int version,
             const Compute& compute);
  // Runs `wait`; a missed deadline is told in terms of the schedule.
  template <class Wait>
  auto waiting(const Action& action, int step, const char* what,
               const Wait& wait) {
    try {
      return wait();
    } catch (const TimeoutError& error) {
      explain(error, action, step, what);
    }
  }
  [[nodiscard]] std::string name_of(int rank) const;
  [[noreturn]] void explain(const TimeoutError& error, const Action& action,
                            int step, const char* what) const;

  Transport& transport_;
  StageCompute& compute_;
  WorkerOptions options_;
  Recorder recorder_;

  const Program* program_ = nullptr;  // of the stretch being run
  Stretch stretch_;
  std::map<int, Versions> versions_;  // by stage
  Shelf<Held> held_;                  // by (cell, step)
  Shelf<PayloadPtr> made_;            // by (what was made, step)
  std::vector<OpenSum> open_sums_;
  std::vector<OpenGather> open_gathers_;
  std::optional<int> open_vote_;  // started, not yet read
  Clock::time_point vote_started_;
  Ballot vote_;         // the last one read
  int votes_read_ = 0;  // of training
  int num_held_ = 0;
  double peak_ = 0;
};

}  // namespace chimera
