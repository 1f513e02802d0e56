// List scheduling: event by event, a free worker takes the ready action with
// the lowest key. The keys decide what kind of order results; rules.h and
// search/draws.h make them.
//
// It never deadlocks. An action that takes room starts only if every other slot
// of its worker that is empty and not finished still finds room afterwards; so
// an empty slot can always start one. Suppose that
// nothing is running and nothing can start. The last stage of a pipe holds
// nothing: what it held would have its I or its W ready. If stage s+1 holds
// nothing, neither does stage s: what it held would be ready for s+1, or have
// its gradient. So nothing is held at all, and the next micro-batch can enter.
#pragma once

#include <vector>

#include "chimera/schedule/list_scheduling/problem.h"

namespace chimera::ordering {

struct ListPolicy {
  std::vector<double> keys;  // [Problem::at(code, number)], the lowest first
  // A W inherits the key of the best forward that waits for memory on its
  // worker: it is what lets that forward run.
  bool room_is_urgent = false;
  // A worker idles for up to this long if something better is known to arrive.
  Ticks wait = 0;
  // [slot] the most activations it may hold, at least 1; empty: no limit but
  // the worker's room.
  std::vector<int> quotas;
};

struct ListedOrder {
  CodeLists lists;
  // The end of the last compute or sum.
  Ticks span = kNever;
  // The longest time from a worker's head to its end. Shifted by this much the
  // order fits behind itself, so steps without a barrier take no longer.
  Ticks period = kNever;
  // Sum over workers of how far they end after head + the busiest worker's
  // work. At 0 the period is that work, and cannot be less.
  Ticks lateness = kNever;
};

// Keeps its tables between runs.
class ListScheduler {
 public:
  // REQUIRES: problem.has_room(); `problem` outlives this.
  explicit ListScheduler(const Problem& problem);

  // Complexity: actions times the logarithm of the workers, if each worker has
  // few slots.
  void run(const ListPolicy& policy, ListedOrder& order);

 private:
  struct Choice;

  void reset();
  [[nodiscard]] Choice choose(int worker, Ticks now) const;
  void offer_input_grad(int slot, Ticks now, Choice& choice) const;
  void offer_forward(int slot, Ticks now, Choice& choice) const;
  void offer_weight_grad(int slot, Choice& choice) const;
  void weigh(int code, Ticks at, Ticks now, Choice& choice) const;
  void begin(int code, Ticks now);
  void arrive(int code, int number, Ticks at);
  void look_at(int worker, Ticks at);
  [[nodiscard]] double key(int code) const;
  [[nodiscard]] bool may_hold_more(int slot) const;
  void measure(ListedOrder& order) const;

  const Problem& problem_;
  const ListPolicy* policy_ = nullptr;
  std::vector<int> count_;          // [code] begun
  std::vector<Ticks> arrival_;      // [at(code, number)] of what F and I need
  std::vector<int> held_;           // [slot] activations
  std::vector<std::int64_t> used_;  // [worker] room
  std::vector<std::int64_t> reserved_;  // [worker] for its empty slots
  std::vector<Ticks> free_at_;          // [worker]
  // When each worker next looks for work: a tree of minima over workers, whose
  // leaves start at `leaves_`. On a tie the lower worker comes first.
  std::vector<Ticks> wake_;
  int leaves_ = 1;
  std::vector<Ticks> slot_end_;  // [slot] of its last W
};

}  // namespace chimera::ordering
