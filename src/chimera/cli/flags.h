// The flags that `schedule` and `simulate` have in common.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "chimera/cli/command.h"
#include "chimera/schedule/costs.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/scheme.h"
#include "chimera/search/search_order.h"

namespace chimera {

// Flags as typed; empty = not given. A schedule comes either from a scheme and
// its flags or from a file.
struct ScheduleFlags {
  std::string scheme, depth, micros, pipes, scale, chunks, shape, cap, omega,
      width, sync, effort, recompute;
  bool tied = false;
  std::string file;
  // True if a profile gives the bytes of activations, so that --cap may be a
  // size such as 16GB.
  bool knows_bytes = false;

  void add_to(Command& command);
  // True if a scheme or a flag of its layout was given.
  [[nodiscard]] bool any_given() const;
  // True if a flag that controls lowering was given.
  [[nodiscard]] bool has_lowering() const {
    return !recompute.empty() || tied || !sync.empty();
  }
  // A copy in which a file name given as the scheme (a.sched, ./a, - for
  // standard input) is moved to `file`.
  [[nodiscard]] ScheduleFlags with_file() const;
};

struct TimeFlags {
  std::string forward, backward, weight_grad, p2p, allreduce;

  void add_to(Command& command);
  [[nodiscard]] UniformTimes read(Values& values) const;
  [[nodiscard]] bool any_given() const;
};

// The schedule to make, and how to lower it.
struct ScheduleRequest {
  ScheduleSpec spec;
  LowerOptions lowering;
  std::optional<double> cap;
  std::optional<double> cap_bytes;  // instead of `cap`
  // The StageCosts::omega of all stages; empty: the values in the costs.
  std::optional<double> omega;
  double effort = 1;  // search effort, as in SearchOptions
  double jitter = 0;  // as in SearchOptions
  OnProgress on_progress = {};
};

[[nodiscard]] ScheduleRequest read_request(const ScheduleFlags& flags,
                                           Values& values);

// A schedule and its costs. A scheme that plans its order has been planned for
// `costs`.
struct MadeSchedule {
  Schedule schedule;
  Costs costs;
  // Activations that a worker may hold at most; empty: no limit.
  std::optional<double> cap;
};
using CostsOf = std::function<Costs(const Schedule& schedule)>;
// Makes the schedule. `steps` decides what it is planned for: one step by
// itself, or many without a barrier. REQUIRES: read_request() found no
// mistakes.
[[nodiscard]] MadeSchedule make_requested(const ScheduleRequest& request,
                                          const CostsOf& costs_of,
                                          int steps = 1);

// The request for a schedule from a file: it only controls lowering. Flags of a
// layout are mistakes.
[[nodiscard]] ScheduleRequest read_file_request(const ScheduleFlags& flags,
                                                Values& values);

// Reads the text of --omega.
[[nodiscard]] std::optional<double> read_omega(const std::string& text,
                                               Values& values);

// Reads and proves the schedule in `flags.file`, or returns all its errors.
[[nodiscard]] Result<Schedule> read_schedule_file(const ScheduleFlags& flags);

// Lowers the schedule unless it is lowered, proves it, and checks it against
// the cap.
[[nodiscard]] Result<Schedule> lower_requested(const Schedule& schedule,
                                               const ScheduleRequest& request,
                                               const Costs& costs);

}  // namespace chimera
