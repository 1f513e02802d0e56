#include "chimera/plan/candidate_judge.h"

#include <algorithm>

#include "chimera/plan/model_layers.h"
#include "chimera/plan/plan_changes.h"
#include "chimera/plan/time_bound.h"

namespace chimera {

namespace {

// The order of a single micro-batch, for a lower bound of memory. In every
// order there is a time when the holders of a pipe hold one activation of each
// of its stages, and this order never holds more.
Schedule one_micro(const ScheduleSpec& spec) {
  const Scheme& scheme = *find_scheme(spec.scheme);
  Schedule order;
  order.scheme = scheme.name;
  order.depth = spec.depth;
  order.micros = 1;
  order.width = spec.width;
  order.placement = scheme.place(resolve(spec).value());
  order.actions.resize(order.workers());
  const auto add = [&](Op op, int stage) {
    order.actions[order.placement.worker(0, stage)].push_back(
        {.op = op, .pipe = 0, .stage = stage, .micro = 0});
  };
  for (int stage = 0; stage < order.stages(); ++stage) add(Op::kF, stage);
  for (int stage = order.stages(); stage-- > 0;) {
    add(Op::kI, stage);
    add(Op::kW, stage);
  }
  return order;
}

}  // namespace

const StagedModel& CandidateJudge::model(const Candidate& candidate) {
  const ScheduleSpec& spec = candidate.spec;
  const auto key =
      std::tuple(spec.depth * *spec.chunks, candidate.micro_batch,
                 spec.scale == Scale::kHalving,
                 update_holders(request_, candidate), candidate.recompute);
  const auto found = models_.find(key);
  if (found != models_.end()) return found->second;
  return models_.emplace(key, staged_model(request_, candidate)).first->second;
}

double CandidateJudge::bound(const Candidate& layout) {
  Candidate candidate = layout;
  // Assumes one recomputed layer: the memory may ask for more, but not for
  // fewer.
  if (candidate.recompute) candidate.recompute = Recompute::first(1);
  // The paper's formula needs no order, so it serves as its own bound.
  return request_.cost_model == CostModel::kSimulate
             ? time_bound(candidate, costs(candidate))
             : least_paper_time(candidate, costs(candidate));
}

Plan CandidateJudge::sized(const Candidate& candidate, const Schedule& order) {
  const StagedModel& staged = model(candidate);
  return {.candidate = candidate,
          .cut = staged.cut,
          .peak = peak_bytes(
              worker_bytes(order, staged,
                           {.recompute = bool{candidate.recompute},
                            .shard_update = request_.shard_update,
                            .saves = request_.saves,
                            .undoes_updates = undoes_updates(request_)}))};
}

bool CandidateJudge::might_fit(const Candidate& layout) {
  return fits(sized(layout, one_micro(layout.spec)));
}

Recompute CandidateJudge::least_recompute(const Candidate& candidate,
                                          const Schedule& order) {
  const auto fits_with = [&](Recompute recompute) {
    Candidate some = candidate;
    some.recompute = recompute;
    return fits(sized(some, order));
  };
  if (fits_with(false)) return false;
  if (!fits_with(true)) return true;
  // Searches by bisection: recomputing more layers never needs more memory.
  int too_few = 0;
  int enough = num_layers(request_.model);
  while (enough - too_few > 1) {
    const int middle = (too_few + enough) / 2;
    (fits_with(Recompute::first(middle)) ? enough : too_few) = middle;
  }
  return recomputes_all(candidate, enough) ? Recompute(true)
                                           : Recompute::first(enough);
}

// True if no stage has more than `layers` layers.
bool CandidateJudge::recomputes_all(const Candidate& candidate, int layers) {
  const std::vector<int>& cut = model(candidate).cut;
  int longest = num_layers(request_.model) - cut.back();
  for (size_t stage = 1; stage < cut.size(); ++stage) {
    longest = std::max(longest, cut[stage] - cut[stage - 1]);
  }
  return layers >= longest;
}

void CandidateJudge::time(const Schedule& order, Plan& plan) {
  const Candidate& candidate = plan.candidate;
  const CandidateCost cost =
      candidate_cost(candidate, order, costs(candidate), options(candidate));
  plan.step_s = cost.step_s;
  plan.sync = cost.sync;
}

void CandidateJudge::explain(const Schedule& order, Plan& plan) {
  plan.times = times_of(plan.candidate, order, costs(plan.candidate),
                        {plan.step_s, plan.sync}, options(plan.candidate));
  plan.bubble_ratio =
      1 - (plan.times.compute + plan.times.recompute) / plan.step_s;
}

}  // namespace chimera
