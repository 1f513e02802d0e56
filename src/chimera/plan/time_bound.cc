#include "chimera/plan/time_bound.h"

#include <algorithm>
#include <limits>
#include <set>

namespace chimera {
namespace {

// Tells whether a scheme has whole backwards. A small example decides, because
// a scheme splits all backwards or none.
bool has_whole_backwards(const Scheme& scheme) {
  static const std::set<std::string_view> kWhole = [] {
    std::set<std::string_view> names;
    for (const Scheme& each : schemes()) {
      const Result<Schedule> small = make_schedule(
          {.scheme = std::string(each.name), .depth = 4, .micros = 8});
      if (!small) continue;
      bool splits = false;
      for (const ActionList& list : small->actions) {
        for (const Action& action : list) splits |= action.op == Op::kI;
      }
      if (!splits) names.insert(each.name);
    }
    return names;
  }();
  return kWhole.contains(scheme.name);
}

class TimeBound {
 public:
  TimeBound(const Candidate& candidate, const Costs& costs)
      : candidate_(candidate),
        costs_(costs),
        scheme_(*find_scheme(candidate.spec.scheme)),
        layout_(resolve(candidate.spec).value()),
        placement_(scheme_.place(layout_)),
        work_(placement_.workers, 0),
        head_(placement_.workers, std::numeric_limits<double>::infinity()),
        tail_(head_) {}

  double run() {
    // Each pipe gets at least this share of the micro-batches.
    const int micros = layout_.micros / placement_.pipes();
    for (int stage = 0; stage < placement_.stages(); ++stage) {
      closing_.push_back(closing(stage));
    }
    for (int pipe = 0; pipe < placement_.pipes(); ++pipe) {
      walk(pipe, micros);
    }
    double bound = 0;
    for (int worker = 0; worker < placement_.workers; ++worker) {
      const double around =
          scheme_.is_synchronous() ? head_[worker] + tail_[worker] : 0;
      bound = std::max(bound, work_[worker] + around);
    }
    return bound;
  }

 private:
  void walk(int pipe, int micros) {
    const bool whole = has_whole_backwards(scheme_);
    double down = 0;  // time of the first activation to this stage
    double back = 0;  // time of the last gradient to stage 0
    for (int stage = 0; stage < placement_.stages(); ++stage) {
      const StageCosts& cost = costs_.stages[stage];
      const int worker = placement_.worker(pipe, stage);
      const double again = candidate_.recompute ? cost.recompute_time() : 0;
      work_[worker] +=
          micros * (cost.forward + again + cost.input_grad + cost.weight_grad);
      head_[worker] = std::min(head_[worker], down);
      const double through_first = whole ? back + closing_[0] : 0;
      tail_[worker] =
          std::min(tail_[worker], std::max(closing_[stage], through_first));
      const double hop = hop_after(pipe, stage);
      down += cost.forward + hop;
      back += (cost.input_grad + cost.weight_grad) / parts() + hop / parts();
    }
  }

  [[nodiscard]] int parts() const {
    return layout_.scale == Scale::kHalving ? 2 : 1;
  }

  // Sum and update of a stage, after its last backward.
  [[nodiscard]] double closing(int stage) const {
    std::set<int> holders;
    for (int pipe = 0; pipe < placement_.pipes(); ++pipe) {
      holders.insert(placement_.worker(pipe, stage));
    }
    const SumRanks ranks = sum_ranks(costs_, {holders.begin(), holders.end()},
                                     placement_.workers, candidate_.spec.width);
    return all_reduce_time(costs_, ranks, costs_.stages[stage].gradient_bytes) +
           costs_.stages[stage].update;
  }

  [[nodiscard]] double hop_after(int pipe, int stage) const {
    if (stage + 1 == placement_.stages()) return 0;
    if (placement_.worker(pipe, stage) == placement_.worker(pipe, stage + 1)) {
      return 0;
    }
    return message_time(costs_,
                        {.from = placement_.worker(pipe, stage),
                         .to = placement_.worker(pipe, stage + 1),
                         .workers = placement_.workers,
                         .width = candidate_.spec.width},
                        costs_.stages[stage].boundary_bytes)
        .total();
  }

  const Candidate& candidate_;
  const Costs& costs_;
  const Scheme& scheme_;
  Layout layout_;
  Placement placement_;
  std::vector<double> closing_;             // [stage]
  std::vector<double> work_, head_, tail_;  // [worker]
};

}  // namespace

double time_bound(const Candidate& candidate, const Costs& costs) {
  return TimeBound(candidate, costs).run();
}

}  // namespace chimera
