// One pass over the work in one direction of time: event by event, a free
// worker chooses among the next actions of its slots by target times.
//
// There are two rules. The list rule starts the ready action with the lowest
// target. It never deadlocks, because every slot that holds nothing keeps room
// for one activation. (list_scheduler.h has the proof for forward passes. In a
// backward pass, when nothing else can start, the slot that has begun the
// fewest W is empty and can start one.) The target rule keeps to the targets:
// an action starts before one with a lower target only if it ends before the
// other can start or is due, and leaves it room. This may deadlock, and then
// the pass fails.
//
// A search makes a hundred thousand passes, so tables are flat and kept from
// pass to pass.
#pragma once

#include <vector>

#include "chimera/schedule/list_scheduling/wake_times.h"
#include "chimera/search/directed.h"

namespace chimera::ordering {

struct PassRule {
  bool keeps_targets = true;  // target rule; false: list rule
  // Target rule: an action may be delayed by another by this much.
  Ticks tolerance = 0;
  // List rule: a worker idles up to this long for a better action.
  Ticks wait = 0;
  // List rule: an action that frees room takes the target of the best action
  // that waits for room.
  bool room_is_urgent = true;
  // The pass fails once a worker must exceed its window by more than this.
  Ticks most_excess = kNever;
};

class TimedPass {
 public:
  // REQUIRES: every worker has room for one activation of each of its slots;
  // `directed` outlives this object.
  explicit TimedPass(const Directed& directed);

  // Plays all actions. Returns false if the pass fails. `targets` are in the
  // time of the direction, indexed by Directed::at.
  [[nodiscard]] bool run(const std::vector<Ticks>& targets,
                         const PassRule& rule);

  // Start times in the last run.
  [[nodiscard]] const std::vector<Ticks>& starts() const { return starts_; }
  // How long after its window the worker ended.
  [[nodiscard]] Ticks excess(int worker) const {
    return free_at_[worker] - directed_.deadline[worker];
  }
  // The order of the last run as lists of the problem.
  [[nodiscard]] CodeLists lists() const;

 private:
  // The next action of a kind.
  struct Next {
    // kNever: no action is left, or its slot is not ready.
    Ticks target = kNever;
    Ticks arrival = kNever;  // arrival of its input; kNever: unknown
    int number = 0;
  };
  // An action that could start now.
  struct Ready {
    Ticks target = 0;
    int kind = 0;
  };
  // An action that cannot start yet.
  struct Expected {
    Ticks target = 0;
    Ticks latest = 0;  // an action in its place must end by then
    Ticks arrival = kNever;
    std::int64_t takes = 0;
    bool waits_for_room = false;
  };
  // The activations that a slot holds before and after I, in forward time.
  struct Held {
    int whole = 0;
    int kept = 0;
    std::int64_t reserve = 0;  // room to be kept free for the slot
  };

  void reset();
  // Starts an action of the worker, or sets the time at which the worker looks
  // for work again. Returns whether an action started.
  bool look(int worker, Ticks now);
  void sort_out(int worker, Ticks now);
  [[nodiscard]] int choose_by_target(Ticks now) const;
  [[nodiscard]] int choose_by_list(Ticks now) const;
  [[nodiscard]] bool delays_others(const Ready& ready, Ticks now) const;
  [[nodiscard]] bool force(Ticks now);
  void begin(int kind, Ticks now);
  void look_up(int kind);
  void arrive(int kind, int number, Ticks at, Ticks now);
  [[nodiscard]] bool has_room(const Kind& kind) const;
  [[nodiscard]] Held held_after(const Kind& kind) const;
  void move_room(const Kind& kind);

  const Directed& directed_;
  const std::vector<Ticks>* targets_ = nullptr;
  PassRule rule_;
  std::vector<Next> next_;            // [kind]
  std::vector<Ticks> arrival_;        // [at]: arrival of its message
  std::vector<Ticks> starts_;         // [at]
  std::vector<Held> held_;            // [slot]
  std::vector<std::int64_t> used_;    // [worker]: room in use
  std::vector<std::int64_t> spared_;  // [worker]: sum of its slots' reserves
  std::vector<Ticks> free_at_;        // [worker]
  std::vector<Ticks> rest_;           // [worker]: work left
  WakeTimes wake_;
  std::vector<std::vector<int>> order_;  // [worker]: kinds, by start
  // Used while one worker chooses.
  std::vector<Ready> ready_;
  std::vector<Expected> expected_;
  Ticks next_arrival_ = kNever;
};

}  // namespace chimera::ordering
