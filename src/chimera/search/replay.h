// Replays lists: every action starts as soon as its worker is free and its
// input is there. A search calls this a hundred thousand times, so it keeps its
// tables between calls and stops once a limit cannot be met.
#pragma once

#include <vector>

#include "chimera/schedule/list_scheduling/problem.h"

namespace chimera::ordering {

// The times by which workers should have ended, sums included.
struct Goal {
  std::vector<Ticks> target;  // [worker]
  Ticks latest = 0;           // the largest target
};

// One target for all workers: the shortest step.
[[nodiscard]] Goal end_by(const Problem& problem, Ticks time);
// Worker w's target is its head plus the work of the busiest worker. If all
// meet theirs, steps follow one another without a gap.
[[nodiscard]] Goal end_in_windows(const Problem& problem);

class Replay {
 public:
  // REQUIRES: `problem` and `goal` outlive this object.
  Replay(const Problem& problem, const Goal& goal);

  // Returns false if the lists deadlock or their span exceeds `limit`. The
  // functions below describe the last call, provided that it returned true.
  [[nodiscard]] bool run(const CodeLists& lists, Ticks limit);

  // goal.latest plus the lateness of the latest worker. With one target for all
  // workers this is the makespan.
  [[nodiscard]] Ticks span() const { return span_; }
  // The value that a search minimises: the span, and to break ties the mean
  // lateness of workers and the mean start of forwards and input gradients.
  [[nodiscard]] double energy() const;
  [[nodiscard]] Ticks excess(int worker) const {
    return end_[worker] - goal_.target[worker];
  }
  [[nodiscard]] Ticks start(int worker, int position) const {
    return start_[worker][position];
  }
  // Arrival of the input that the `number`-th action of `code` takes from
  // another slot; kNone if it takes none.
  [[nodiscard]] Ticks input_at(int code, int number) const;

  void swap(Replay& other);

 private:
  [[nodiscard]] bool advance(int worker, const CodeList& list, Ticks limit);
  void wake_after(int worker, int code);
  void measure();

  const Problem& problem_;
  const Goal& goal_;
  std::vector<Ticks> done_;  // [Problem::at(code, number)]: end; kNone: not yet
  std::vector<std::vector<Ticks>> start_;  // [worker][position]
  std::vector<int> count_;                 // [code]
  std::vector<int> position_;              // [worker]
  std::vector<Ticks> free_at_;             // [worker]
  std::vector<Ticks> rest_;                // [worker] work left
  std::vector<Ticks> end_;                 // [worker] with its sums
  std::vector<Ticks> slot_end_;            // [slot] of its last W
  std::vector<int> waiting_;               // workers that may continue
  std::vector<bool> is_waiting_;           // [worker]
  double starts_ = 0;                      // of all F and I, added up
  Ticks span_ = kNever;
};

}  // namespace chimera::ordering
