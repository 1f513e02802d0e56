// The runtime. A worker walks its lowered list, round after round, over a
// Transport and a StageCompute. It decides nothing: every send, receive, sum
// and update is an action in the list.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "chimera/comm/comm_error.h"
#include "chimera/exec/flight_recorder.h"
#include "chimera/exec/program.h"
#include "chimera/exec/recorder.h"
#include "chimera/exec/shelf.h"
#include "chimera/exec/stage_compute.h"

namespace chimera {

// The result of a vote: equal on all ranks, except for `started`.
struct VoteResult {
  int step = 0;
  Ballot ballot;
  // When this rank started the vote, at the end of its step.
  Clock::time_point started;
};

struct WorkerOptions {
  RecorderOptions recorder = {};
  // Called when the result of a step's vote has been read: in the same step if
  // updates wait for it, else during the next step (at V, or at N).
  std::function<void(const VoteResult& result)> on_vote = {};
  // Called once per step to add to this rank's ballot.
  std::function<void(Ballot& ballot)> on_ballot = {};
  FlightRecorder* flight = nullptr;  // may be null
  // Names of the ranks in messages; if empty, ranks are called "worker 2".
  std::vector<std::string> rank_names = {};
  int steps_before = 0;  // training steps done before this Worker started
};

// A range of steps. Evaluations count their own steps.
struct Stretch {
  int first = 0;
  int end = 0;
  bool training = true;
  int after = 0;  // training steps done before an evaluation, for messages

  [[nodiscard]] Channel channel() const {
    return training ? Channel::kTraining : Channel::kEvaluation;
  }
};

class Worker {
 public:
  Worker(Transport& transport, StageCompute& compute,
         const WorkerOptions& options);

  // Runs the steps of `stretch` and returns the step after the last one run,
  // which is less than stretch.end if a vote asked to stop. ENSURES: nothing is
  // in flight afterwards. Throws CommError, and what `compute` throws.
  int run(const Program& program, const Stretch& stretch);

  // The newest weights of a stage that this worker holds. REQUIRES: called
  // between stretches.
  [[nodiscard]] const WeightsPtr& weights(int stage);

  // This rank's share of the training state, to be saved. `lost`: a lost rank,
  // which saves nothing; kNone: no rank is lost. REQUIRES: called between
  // stretches of `program`.
  [[nodiscard]] std::vector<StatePiece> state(const Program& program,
                                              int lost = kNone);

  // After a failure: the number of steps whose votes this rank has read, and
  // the last vote. If the vote decides about updates, all ranks had completed
  // the all-reduces of these steps.
  [[nodiscard]] int votes_read() const { return votes_read_; }
  [[nodiscard]] const Ballot& last_vote() const { return vote_; }
  // When this rank cast its last ballot.
  [[nodiscard]] Clock::time_point vote_started() const { return vote_started_; }
  // After a failure in step `steps` or later: brings all stages to the state
  // after `steps` steps, by applying missing updates and undoing provisional
  // ones that the vote did not confirm. `vote` is the vote of the last of these
  // steps.
  void finish_updates(const Program& program, int steps, const Ballot& vote);

  [[nodiscard]] const Recorder& recorder() const { return recorder_; }
  [[nodiscard]] Recorder& recorder() { return recorder_; }
  // Peak number of activations held, each of one D-th of the model.
  [[nodiscard]] double peak_activations() const { return peak_; }

 private:
  struct Held {
    StashPtr stash;
    int version = 0;
    int parts_done = 0;
  };
  struct Versions {
    WeightsPtr newest;
    WeightsPtr previous;          // only in 2BW: weights one update old
    int number = 0;               // updates seen by `newest`
    bool is_provisional = false;  // last update awaits its vote
  };
  struct OpenSum {
    CollectiveId id;
    Action action;
    TimeMarkPtr start;  // on a device
  };
  struct OpenGather {
    CollectiveId id;
    int stage;  // stage whose update started the gather
  };

  void run_rounds();
  void run_action(size_t position, int round);
  void perform(const Action& action, int step);
  void forward(const Action& action, int step);
  void recompute(const Action& action, int step);
  void backward(const Action& action, int step);
  void update(const Action& action, int step);
  void gather_shards(const Action& action, int step, int number);
  void finish_gathers(
      const std::function<bool(const OpenGather& gather)>& is_needed);
  void send(const Action& action, int step);
  void post(const Action& action, int step);
  void start_sum(const Action& action, int step);
  void finish_sum(const CollectiveId& id);
  void start_vote(int step);
  void read_vote();
  void settle_updates(int step);
  void redo_update(const Action& action, int step);
  void drop_forwards(int step);
  void drop_message(const Action& post, int step);

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
             const Compute& compute) {
    const Clock::time_point start = Clock::now();
    const auto record = [&] {
      recorder_.compute(
          action, step,
          {{start, Clock::now()}, {compute_.work_start(), compute_.mark()}},
          version);
    };
    if constexpr (std::is_void_v<decltype(compute())>) {
      compute();
      record();
    } else {
      auto result = compute();
      record();
      return result;
    }
  }
  // Runs `wait`; describes a missed deadline in terms of the schedule.
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

  const Program* program_ = nullptr;  // program of the current stretch
  Stretch stretch_;
  std::map<int, Versions> versions_;  // by stage
  Shelf<Held> held_;                  // by (cell, step)
  Shelf<PayloadPtr> made_;            // by (value, step)
  std::vector<OpenSum> open_sums_;
  std::vector<OpenGather> open_gathers_;
  std::optional<int> open_vote_;  // step of a vote not yet read
  Clock::time_point vote_started_;
  Ballot vote_;         // last vote that was read
  int votes_read_ = 0;  // of training
  int num_held_ = 0;
  double peak_ = 0;
};

}  // namespace chimera
