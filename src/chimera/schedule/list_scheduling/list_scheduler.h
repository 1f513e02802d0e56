// List scheduling: time runs, and a free worker takes the best of what is
// ready. What is best is a key for every action; who makes the keys decides
// what kind of order comes out (rules.h, search/draws.h).
//
// It never gets stuck. A forward (or what else takes room) starts only if every
// other slot of its worker that holds nothing yet, and is not through, still
// finds room afterwards; so an empty slot can always start one. Suppose that
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
  // The longest time that a worker takes from its head on. Shifted by this
  // much the order fits behind itself: steps without a barrier between take no
  // longer.
  Ticks period = kNever;
  // How far workers end beyond head + the busiest one's work, in all. At 0 the
  // period is that work, and cannot be less.
  Ticks lateness = kNever;
};

// Keeps its tables between runs.
class ListScheduler {
 public:
  // REQUIRES: problem.has_room(), and it outlives this.
  explicit ListScheduler(const Problem& problem);

  // Complexity: actions times the logarithm of the workers, for few slots on
  // each.
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
  // When each worker has to look for work: a tree of minima over workers, the
  // leaves from `leaves_` on. On a tie the lower worker comes first.
  std::vector<Ticks> wake_;
  int leaves_ = 1;
  std::vector<Ticks> slot_end_;  // [slot] of its last W
};

}  // namespace chimera::ordering
