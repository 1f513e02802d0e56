// The simulator as judge: of all orders it is shown it keeps the best.
#pragma once

#include "chimera/schedule/costs.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/schedule.h"

namespace chimera::ordering {

// What an order is to be good at.
enum class Aim {
  kStep,    // the time of one step by itself
  kSteady,  // the time from step to step, with no barrier between
};

class Judge {
 public:
  // `lowering.costs` is ignored. REQUIRES: `costs` outlives this.
  Judge(const Costs& costs, const LowerOptions& lowering, Aim aim);

  // The shortest time wins; of equals the order that several steps in a row
  // with slower messages delay the least: no machine is as regular as its
  // costs.
  // REQUIRES: `order` is compute-only and validates clean.
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
  double delayed_ = 0;  // time of the best with delayed_costs_
};

}  // namespace chimera::ordering
