// State and transitions of the simulator; simulate() is the entry point.
// Compute is in simulator.cc; messages, sums and the vote are in
// simulator_comm.cc.
#pragma once

#include <cstdint>
#include <vector>

#include "chimera/schedule/jitter.h"
#include "chimera/schedule/micro_index.h"
#include "chimera/simulate/event_queue.h"
#include "chimera/simulate/links.h"
#include "chimera/simulate/simulate.h"

namespace chimera::simulating {

// A completion whose time is known only once the operation has started.
struct Arrival {
  double at = -1;  // < 0: not started yet
  std::int32_t event = kNone;
  std::vector<int> waiting;  // workers to wake once `at` is known

  [[nodiscard]] bool known() const { return at >= 0; }
};

// An Arrival with one receiver, for messages: small, because there are as many
// messages as actions.
struct MessageArrival {
  double at = -1;
  std::int32_t event = kNone;
  std::int32_t waiting = kNone;
};

struct Sum {
  Arrival done;
  int missing = 0;  // members that have not started it
};

struct Vote {
  Arrival done;
  std::vector<double> started;  // [worker]
  int missing = 0;
};

struct WorkerState {
  int round = 0;
  int position = 0;
  bool computing = false;
  std::int32_t last_event = kNone;  // its newest compute event
  double free_at = 0;
  std::int64_t held = 0;  // in parts of an activation (held.h)
  std::int64_t peak = 0;
  bool has_computed = false;
  std::vector<int> open_sums;  // started and not known to be complete
};

// The parts of a micro-batch's backward that have ended at a stage.
struct PartsDone {
  std::uint8_t input_grad = 0;
  std::uint8_t weight_grad = 0;
};

class Simulator {
 public:
  Simulator(const Schedule& schedule, const Costs& costs,
            const SimulateOptions& options);
  Simulation run();

 private:
  // The time at which an action may start, and the event that determines it.
  struct Ready {
    double at;
    std::int32_t cause;

    void after(double time, std::int32_t event) {
      if (time > at) *this = {time, event};
    }
  };

  void count_members();
  void note_tied(const SumGroup& group);
  void note_lists();

  // Runs `worker` until it computes, waits or is done.
  void advance(int worker);
  // Performs one action. False if the worker has to wait; it will be woken.
  bool step(int worker, const Action& action, int step);
  bool compute(int worker, const Action& action, int step);
  bool update_ready(int worker, const Action& action, int step, Ready& ready);
  bool input_ready(int worker, const Action& action, int step, Ready& ready);
  void begin(int worker, const Action& action, int step, const Ready& ready);
  void free_held(int worker, const Action& action, int step);
  void finish(int worker);
  void send(int worker, const Action& action, int step);
  [[nodiscard]] bool has_sent(int worker);
  void start_sum(int worker, const Action& action, int step);
  void run_sum(int starter, const Action& action, int step);
  [[nodiscard]] double share_cards(int group, double start, double slower);
  bool start_vote(int worker, const Action& action, int step);
  void finish_vote(Vote& vote, const Action& action, int step);
  bool read_vote(int worker, int step);

  bool wait_for(Arrival& arrival, int worker);
  void announce(Arrival& arrival, double at, std::int32_t event);
  std::int32_t record(const Action& action, int worker, int step,
                      const Ready& ready, double end);
  [[nodiscard]] size_t sum_index(int group, int micro, int step) const {
    return (static_cast<size_t>(step) * schedule_.groups.size() + group) *
               sums_per_group_ +
           std::max(micro, 0);
  }
  [[nodiscard]] size_t made_index(size_t made, int step) const {
    return static_cast<size_t>(step) * index_.size() + made;
  }
  void summarise();
  [[nodiscard]] double window() const;

  const Schedule& schedule_;
  const Costs& costs_;
  SimulateOptions options_;
  MicroIndex index_;
  EventQueue queue_;
  Jitter jitter_;
  Links links_;
  int rounds_;
  size_t sums_per_group_ = 1;  // per step; N if each micro-batch is summed
  std::vector<WorkerState> workers_;
  std::vector<MessageArrival> messages_;     // [step, made]
  std::vector<Sum> sums_;                    // [step, group, micro]
  std::vector<int> vote_position_;           // [worker]
  bool is_vote_late_ = false;                // V waits for it, not U
  std::vector<Vote> votes_;                  // [step]
  std::vector<std::vector<int>> groups_of_;  // [stage]
  std::vector<int> tied_stage_;              // [worker]; kNone: holds none
  std::vector<std::vector<int>> holders_;    // [group], each worker once
  std::vector<double> sum_times_;            // [group]
  std::vector<double> card_times_;           // [group]
  std::vector<double> card_free_at_;         // [worker]
  std::vector<bool> recomputed_;             // [cell]
  std::vector<PartsDone> parts_done_;        // [step, cell]
  std::vector<std::int64_t> deferred_;       // [stage]: parts held after I
  Simulation result_;
};

}  // namespace chimera::simulating
