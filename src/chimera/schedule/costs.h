// What actions, messages and sums cost. Times are in whatever unit the caller
// uses throughout (the command line's units, or seconds from a profile).
#pragma once

#include <optional>
#include <vector>

#include "chimera/schedule/schedule.h"

namespace chimera {

struct StageCosts {
  double forward = 1;  // also the time of a recomputation
  double input_grad = 1;
  double weight_grad = 1;  // whole backward = input_grad + weight_grad
  double update = 0;
  double weight_bytes = 0;
  double gradient_bytes = 0;
  double optimizer_bytes = 0;
  double activation_bytes = 0;  // of one micro-batch
  double boundary_bytes = 0;    // the tensor between this stage and the next

  bool operator==(const StageCosts&) const = default;
};

// Of each round of a gradient sum, where it differs from a message's.
struct SumCosts {
  double latency = 0;
  double time_per_byte = 0;

  bool operator==(const SumCosts&) const = default;
};

struct Costs {
  std::vector<StageCosts> stages;
  double latency = 0;        // of every message between two workers
  double time_per_byte = 0;  // of every directed link; 0 = free
  // A worker that sends does nothing else until its bytes are on the way.
  bool blocking_sends = false;
  // The time of one group's sum; where absent, Rabenseifner's formula over the
  // stage's gradient bytes and `sums`, or where that is absent too, latency and
  // time_per_byte of a message.
  std::optional<double> sum_time;
  std::optional<SumCosts> sums = {};
  // Of the weight that the first and the last stage share: its gradient, which
  // has a sum of its own, and its update. Not part of those stages' numbers.
  double tied_bytes = 0;
  double tied_update = 0;

  bool operator==(const Costs&) const = default;
};

// The command line's time flags: all of one D-th of the model, so a chunk
// takes 1/chunks of it.
struct UniformTimes {
  double forward = 1;
  double backward = 2;
  std::optional<double> weight_grad;  // default backward / 2
  double update = 0;
  double latency = 0;
  double sum_time = 0;
};

[[nodiscard]] Costs uniform_costs(const Schedule& schedule,
                                  const UniformTimes& times);

// How long `action` occupies its worker; 0 for everything that is not compute.
[[nodiscard]] double compute_time(const Costs& costs, const Action& action,
                                  int parts);

// Rabenseifner's sum of `bytes` over `ranks`: 2 log2(r) latencies and 2 (r-1)/r
// of the bytes. 0 for one rank.
[[nodiscard]] double rabenseifner_time(const SumCosts& costs, double ranks,
                                       double bytes);

// The time of one sum of `group` once its last member has started it. A group
// with a single holder over all copies is free.
[[nodiscard]] double sum_time(const Costs& costs, const Schedule& schedule,
                              const SumGroup& group);

}  // namespace chimera
