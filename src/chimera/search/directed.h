// The work as one direction of time sees it, in flat arrays.
//
// Played backwards, a step is a step as well: each slot runs W, then I, then F,
// input gradients go from the first stage to the last and forwards return, and
// an activation is held from the start of W to the end of F. So one pass
// (timed_pass.h) serves both directions.
#pragma once

#include <vector>

#include "chimera/search/replay.h"

namespace chimera::ordering {

enum class Direction { kForwards, kBackwards };

// Start times of all actions, [Problem::at(code, number)], in forward time.
using Timetable = std::vector<Ticks>;

// All actions of one op of one slot.
struct Kind {
  int code = 0;  // in the problem
  int worker = 0;
  int slot = 0;
  int op = 0;  // in the order in which this direction runs them
  int micros = 0;
  int feeds = kNone;    // the kind that receives its messages
  bool is_fed = false;  // needs a message
  Ticks cost = 0;
  Ticks lag = 0;           // from its end to the arrival of its message
  std::int64_t takes = 0;  // room that a start takes
  std::int64_t frees = 0;  // room that an end gives back
  // The slot's activations before I (whole) and between I and W (kept), in
  // forward time: their room, and how an action changes their numbers.
  std::int64_t size = 0;
  std::int64_t kept = 0;
  int adds_whole = 0;
  int adds_kept = 0;
  int filler = 0;  // the slot's kind that adds a whole one
};

struct Directed {
  Direction direction = Direction::kForwards;
  int workers = 0;
  int most_micros = 0;
  int actions = 0;
  std::int64_t room = 0;
  std::vector<Kind> kinds;      // those of a worker stand together
  std::vector<int> first_kind;  // [worker], and the end of the last one's
  std::vector<Ticks> work;      // [worker]
  std::vector<Ticks> release;   // [worker]: no action starts sooner
  std::vector<Ticks> deadline;  // [worker]: the end of its window

  [[nodiscard]] std::size_t at(int kind, int number) const {
    return static_cast<std::size_t>(kind) * most_micros + number;
  }
};

// Worker w has the window from its head to its target in `goal`. Backwards,
// time 0 is the latest target.
// REQUIRES: problem.holds_from == kF.
[[nodiscard]] Directed make_directed(const Problem& problem, const Goal& goal,
                                     Direction direction);

// Translates between forward time, in the problem's order, and the time and
// order of a direction. `end` is the forward time at which backward time is 0.
void to_direction(const Directed& directed, Ticks end, const Timetable& from,
                  std::vector<Ticks>& to);
void from_direction(const Directed& directed, Ticks end,
                    const std::vector<Ticks>& from, Timetable& to);

}  // namespace chimera::ordering
