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

class Judge {
 public:
  // Ignores lowering.costs. REQUIRES: `costs` outlives this object.
  Judge(const Costs& costs, const LowerOptions& lowering, Aim aim);

  // Keeps `order` if it is faster than the best so far. Among equals it keeps
  // the one that suffers less when messages are slower over several steps,
  // because no machine is as regular as its costs. REQUIRES: `order` is
  // compute-only and validates clean.
  void see(const Schedule& order);

  [[nodiscard]] const Schedule& best() const { return best_; }
  [[nodiscard]] double time() const { return time_; }  // of the best

 private:
  const Costs& costs_;
  Costs delayed_costs_;
  LowerOptions lowering_;
  Aim aim_;
  Schedule best_;
  double time_ = 0;
  double delayed_ = 0;  // time of the best order with delayed_costs_
};

}  // namespace chimera::ordering
