// Plays lists through, every action as soon as its worker is free and its
// input there. What a search calls a hundred thousand times, so it keeps its
// tables and gives up as soon as a limit cannot be met.
#pragma once

#include <vector>

#include "chimera/schedule/list_scheduling/problem.h"

namespace chimera::ordering {

// When each worker should have ended, sums included.
struct Goal {
  std::vector<Ticks> target;  // [worker]
  Ticks latest = 0;           // of them
};

// All together: the shortest step.
[[nodiscard]] Goal end_by(const Problem& problem, Ticks time);
// Each within the busiest one's work from its head on, so that steps follow one
// another without a gap.
[[nodiscard]] Goal end_in_windows(const Problem& problem);

class Replay {
 public:
  // REQUIRES: both outlive this.
  Replay(const Problem& problem, const Goal& goal);

  // False if the lists get stuck or `span` would come out above `limit`. The
  // results below are those of the last call, sound only if it gave true.
  [[nodiscard]] bool run(const CodeLists& lists, Ticks limit);

  // The latest worker's end against its target, counted from the last target:
  // the makespan if all targets are one.
  [[nodiscard]] Ticks span() const { return span_; }
  // What a search goes down on: the span, and as ties are long, how late the
  // workers are on average and how early forwards and input gradients start.
  [[nodiscard]] double energy() const;
  [[nodiscard]] Ticks excess(int worker) const {
    return end_[worker] - goal_.target[worker];
  }
  [[nodiscard]] Ticks start(int worker, int position) const {
    return start_[worker][position];
  }
  // When what the number-th action of `code` needs from another slot is there;
  // kNone if it needs nothing.
  [[nodiscard]] Ticks input_at(int code, int number) const;

  void swap(Replay& other);

 private:
  [[nodiscard]] bool advance(int worker, const CodeList& list, Ticks limit);
  void wake_after(int worker, int code);
  void measure();

  const Problem& problem_;
  const Goal& goal_;
  std::vector<Ticks> done_;  // [Problem::at(code, number)] kNone: not yet
  std::vector<std::vector<Ticks>> start_;  // [worker][position]
  std::vector<int> count_;                 // [code]
  std::vector<int> position_;              // [worker]
  std::vector<Ticks> free_at_;             // [worker]
  std::vector<Ticks> rest_;                // [worker] work left
  std::vector<Ticks> end_;                 // [worker] with its sums
  std::vector<Ticks> slot_end_;            // [slot] of its last W
  std::vector<int> waiting_;               // workers that may go on
  std::vector<bool> is_waiting_;           // [worker]
  double starts_ = 0;                      // summed up, of F and I
  Ticks span_ = kNever;
};

}  // namespace chimera::ordering
