// The work as seen in one direction of time, in flat arrays.
//
// A step played backwards is a step as well: each slot runs W, then I, then F;
// input gradients go from the first stage to the last, and forwards return; an
// activation is held from the start of W to the end of F. One pass
// (timed_pass.h) therefore serves both directions.
#pragma once

#include <vector>

#include "chimera/search/replay.h"

namespace chimera::ordering {

enum class Direction { kForwards, kBackwards };

// Start times of all actions, [Problem::at(code, number)], in forward time.
using Timetable = std::vector<Ticks>;

// All actions of one op of one slot.
struct Kind {
  int code = 0;  // code in the problem
  int worker = 0;
  int slot = 0;
  int op = 0;  // 0 runs first in this direction
  int micros = 0;
  int feeds = kNone;    // kind that receives its messages
  bool is_fed = false;  // needs a message
  Ticks cost = 0;
  Ticks lag = 0;           // from its end until its message arrives
  std::int64_t takes = 0;  // room taken at its start
  std::int64_t frees = 0;  // room given back at its end
  // In forward time a slot's activation is whole before I and kept between I
  // and W. `size` and `kept` are its room in these states; adds_whole and
  // adds_kept tell how an action changes the number in each.
  std::int64_t size = 0;
  std::int64_t kept = 0;
  int adds_whole = 0;
  int adds_kept = 0;
  int filler = 0;  // kind of the slot that adds a whole activation
};

struct Directed {
  Direction direction = Direction::kForwards;
  int workers = 0;
  int most_micros = 0;
  int actions = 0;
  std::int64_t room = 0;
  std::vector<Kind> kinds;      // grouped by worker
  std::vector<int> first_kind;  // [worker], and the end of the last worker
  std::vector<Ticks> work;      // [worker]
  std::vector<Ticks> release;   // [worker]: earliest start of any action
  std::vector<Ticks> deadline;  // [worker]: end of its window

  [[nodiscard]] std::size_t at(int kind, int number) const {
    return static_cast<std::size_t>(kind) * most_micros + number;
  }
};

// Makes the work of one direction. Worker w has the window from its head to its
// target in `goal`. Backwards, time 0 is the latest target. REQUIRES:
// problem.holds_from == kF.
[[nodiscard]] Directed make_directed(const Problem& problem, const Goal& goal,
                                     Direction direction);

// Translates between forward time, in the problem's order, and the time and
// order of a direction. `end` is the forward time at which backward time is 0.
void to_direction(const Directed& directed, Ticks end, const Timetable& from,
                  std::vector<Ticks>& to);
void from_direction(const Directed& directed, Ticks end,
                    const std::vector<Ticks>& from, Timetable& to);

}  // namespace chimera::ordering
