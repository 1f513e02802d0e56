// Judges orders by simulating their lowered lists, and keeps the best one.
#pragma once

#include "chimera/schedule/costs.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/schedule.h"

namespace chimera::ordering {

// The time by which orders are compared.
enum class Aim {
  kStep,    // makespan of a single step
  kSteady,  // time from step to step without a barrier
};

struct JudgeOptions {
  Aim aim = Aim::kStep;
  // Standard deviation of the times, as in SimulateOptions. If not 0, orders
  // are compared by their mean time under this noise.
  double jitter = 0;
};

// The mean period with jitter, by which orders are compared.
[[nodiscard]] double judged_period(const Schedule& lowered, const Costs& costs,
                                   double jitter);

class Judge {
 public:
  // Ignores lowering.costs. REQUIRES: `costs` outlives this object.
  Judge(const Costs& costs, const LowerOptions& lowering,
        const JudgeOptions& options);

  // Keeps `order` if it is faster than the best so far. Among equals it keeps
  // the one that suffers less when messages are slower over several steps,
  // because no machine is as regular as its costs. REQUIRES: `order` is
  // compute-only and validates clean.
  void see(const Schedule& order);

  [[nodiscard]] const Schedule& best() const { return best_; }
  // The least time of all orders seen, without noise.
  [[nodiscard]] double time() const { return least_; }

 private:
  [[nodiscard]] double time_of(const Schedule& lowered) const;
  [[nodiscard]] double expected_time_of(const Schedule& lowered) const;

  const Costs& costs_;
  Costs delayed_costs_;
  LowerOptions lowering_;
  JudgeOptions options_;
  Schedule best_;
  double least_ = 0;
  double time_ = 0;     // of the best order, with noise if there is any
  double delayed_ = 0;  // time of the best order with delayed_costs_
};

}  // namespace chimera::ordering
