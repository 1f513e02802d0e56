// List scheduling: event by event, a free worker takes the ready action with
// the lowest key. The keys determine the order; rules.h and search/draws.h make
// them.
//
// List scheduling never deadlocks. An action that takes room (memory for one
// activation) starts only if every other unfinished slot of its worker that
// holds no whole activation still finds room for one afterwards, once it has
// run the W of what it holds between I and W. Suppose that nothing is running
// and nothing can start. Then nothing is held between I and W, whose W would be
// ready, so a slot that holds nothing can start one. The last stage of a pipe
// holds nothing: anything it held would have its I ready. If stage s+1 holds
// nothing, neither does stage s: anything it held would be ready for s+1 or
// have its gradient. So nothing is held at all, and the next micro-batch can
// enter: a contradiction.
#pragma once

#include <vector>

#include "chimera/schedule/list_scheduling/problem.h"
#include "chimera/schedule/list_scheduling/wake_times.h"

namespace chimera::ordering {

struct ListPolicy {
  std::vector<double> keys;  // [Problem::at(code, number)], lowest first
  // True: a W takes the key of the best forward that waits for memory on its
  // worker, because it frees that memory.
  bool room_is_urgent = false;
  // A worker idles for up to this long if a better action is known to arrive.
  Ticks wait = 0;
  // [slot]: the most activations it may hold, at least 1; what waits for W
  // counts as the room it takes. Empty: only the worker's room limits them.
  std::vector<int> quotas;
};

struct ListedOrder {
  CodeLists lists;
  // End of the last compute or sum.
  Ticks span = kNever;
  // The longest time from the first possible start of a worker (its head) to
  // its end. Repeated at this distance the order does not overlap itself, so
  // steps without a barrier take no longer.
  Ticks period = kNever;
  // Sum over workers of their ends minus (head + work of the busiest worker).
  // At 0 the period equals that work, which is its minimum.
  Ticks lateness = kNever;
};

// Keeps its tables from run to run.
class ListScheduler {
 public:
  // REQUIRES: problem.has_room(); `problem` outlives this object.
  explicit ListScheduler(const Problem& problem);

  // Fills `order` by `policy`. Complexity: actions times the logarithm of the
  // workers, if each worker has few slots.
  void run(const ListPolicy& policy, ListedOrder& order);

 private:
  struct Choice;
  // The activations of a slot before and after I.
  struct Held {
    int whole = 0;
    int kept = 0;
    std::int64_t reserve = 0;  // room to be kept free for the slot
  };

  void reset();
  [[nodiscard]] Choice choose(int worker, Ticks now) const;
  void offer_input_grad(int slot, Ticks now, Choice& choice) const;
  void offer_forward(int slot, Ticks now, Choice& choice) const;
  void offer_weight_grad(int slot, Choice& choice) const;
  void weigh(int code, Ticks at, Ticks now, Choice& choice) const;
  void begin(int code, Ticks now);
  void arrive(int code, int number, Ticks at);
  [[nodiscard]] double key(int code) const;
  [[nodiscard]] bool may_hold_more(int slot) const;
  [[nodiscard]] std::int64_t reserve_of(int slot, const Held& held,
                                        int begun) const;
  void hold(int code);
  void measure(ListedOrder& order) const;

  const Problem& problem_;
  const ListPolicy* policy_ = nullptr;
  std::vector<int> count_;  // [code]: actions started
  // [at(code, number)]: when the input of an F or I arrives
  std::vector<Ticks> arrival_;
  std::vector<Held> held_;              // [slot]
  std::vector<std::int64_t> used_;      // [worker]: room in use
  std::vector<std::int64_t> reserved_;  // [worker]: sum of its reserves
  std::vector<Ticks> free_at_;          // [worker]
  WakeTimes wake_;                      // when each worker next looks for work
  std::vector<Ticks> slot_end_;         // [slot]: end of its last W
};

}  // namespace chimera::ordering
