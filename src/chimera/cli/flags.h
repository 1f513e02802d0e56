// The flags that `schedule` and `simulate` share.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "chimera/cli/command.h"
#include "chimera/schedule/costs.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/scheme.h"

namespace chimera {

// As typed; empty = not given. A schedule comes from a scheme and its flags or
// from a file.
struct ScheduleFlags {
  std::string scheme, depth, micros, pipes, scale, chunks, shape, cap, width,
      sync, effort;
  bool recompute = false;
  bool tied = false;
  std::string file;

  void add_to(Command& command);
  // Whether a scheme or a flag of its layout is given.
  [[nodiscard]] bool any_given() const;
  // Whether a flag that says how to lower is given.
  [[nodiscard]] bool has_lowering() const {
    return recompute || tied || !sync.empty();
  }
  // The same with the name of a file (a.sched, ./a, - for standard input) where
  // the scheme was expected moved to `file`.
  [[nodiscard]] ScheduleFlags with_file() const;
};

struct TimeFlags {
  std::string forward, backward, weight_grad, p2p, allreduce;

  void add_to(Command& command);
  [[nodiscard]] UniformTimes read(Values& values) const;
  [[nodiscard]] bool any_given() const;
};

// How a schedule is to be made and lowered.
struct ScheduleRequest {
  ScheduleSpec spec;
  LowerOptions lowering;
  std::optional<double> cap;
  double effort = 1;  // of planned orders, as in SearchOptions
};

[[nodiscard]] ScheduleRequest read_request(const ScheduleFlags& flags,
                                           Values& values);

// The schedule, its order planned for `costs` if the scheme plans it.
struct MadeSchedule {
  Schedule schedule;
  Costs costs;
  // What its workers may hold; absent if nothing limits them.
  std::optional<double> cap;
};
using CostsOf = std::function<Costs(const Schedule& schedule)>;
// `steps` says what for: one step by itself, or many without a barrier.
// REQUIRES: read_request() found nothing wrong.
[[nodiscard]] MadeSchedule make_requested(const ScheduleRequest& request,
                                          const CostsOf& costs_of,
                                          int steps = 1);

// For a schedule that comes from a file: only says how to lower it, and is
// refused if flags of a layout are given too.
[[nodiscard]] ScheduleRequest read_file_request(const ScheduleFlags& flags,
                                                Values& values);

// The schedule in `flags.file`, proven; or everything that is wrong with it.
[[nodiscard]] Result<Schedule> read_schedule_file(const ScheduleFlags& flags);

// Lowered (unless it is already), proven, and held against the cap.
[[nodiscard]] Result<Schedule> lower_requested(const Schedule& schedule,
                                               const ScheduleRequest& request,
                                               const Costs& costs);

}  // namespace chimera
