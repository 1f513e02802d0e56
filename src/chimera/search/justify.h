// Forward and backward justification: passes over the work alternate between
// the two directions of time, and each takes the start times of the last one as
// its targets. Forward passes improve how a step begins, backward passes how it
// ends. To leave dead ends, targets get noise, and worse orders are accepted
// with a probability that falls, as in simulated annealing.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "chimera/search/random.h"
#include "chimera/search/timed_pass.h"

namespace chimera::ordering {

// An order, and the times at which a pass played it.
struct Played {
  Timetable times;
  CodeLists lists;                // empty: `times` are only wishes
  Ticks excess = kNever;          // most by which a worker misses its window
  double value = double(kNever);  // minimised by a run

  [[nodiscard]] bool is_better_than(const Played& other) const {
    return excess != other.excess ? excess < other.excess : value < other.value;
  }
};

struct RunOptions {
  int passes = 0;
  int listed = 0;          // number of first passes that use the list rule
  double noise = 0;        // deviation of targets, in mean forwards
  double temperature = 0;  // in mean forwards
};

class Justifier {
 public:
  // A run ends once its excess is at most `enough`. REQUIRES:
  // problem.holds_from == kF, problem.has_room(); `problem` and `goal` outlive
  // this object.
  Justifier(const Problem& problem, const Goal& goal, Ticks enough);

  // Runs passes from `start`. Returns the best order found, or `start` itself.
  [[nodiscard]] Played run(const Played& start, const RunOptions& options,
                           Random& random);

  // Plays `lists` with Replay. REQUIRES: they play to their end.
  [[nodiscard]] Played replayed(const CodeLists& lists) const;

  [[nodiscard]] std::int64_t passes_made() const { return passes_made_; }

 private:
  struct Mark {
    Ticks excess = 0;
    double value = 0;
  };

  void aim(int side, double noise, Random& random);
  void shake(const Directed& directed, double noise, Random& random);
  [[nodiscard]] PassRule list_rule(Random& random) const;
  [[nodiscard]] PassRule any_rule(Random& random) const;
  template <typename ExcessOf>
  [[nodiscard]] Mark mark(const ExcessOf& excess_of) const;

  const Problem& problem_;
  const Goal& goal_;
  Ticks enough_;
  double forward_ = 0;  // mean time of a forward
  // [direction]
  std::array<Directed, 2> directed_;
  std::array<TimedPass, 2> passes_;
  Played now_;
  std::vector<Ticks> targets_;
  std::int64_t passes_made_ = 0;
};

}  // namespace chimera::ordering
