#include "chimera/plan/candidate_judge.h"

#include "chimera/plan/plan_changes.h"
#include "chimera/plan/time_bound.h"

namespace chimera {

const StagedModel& CandidateJudge::model(const Candidate& candidate) {
  const ScheduleSpec& spec = candidate.spec;
  const auto key = std::tuple(spec.depth * *spec.chunks, candidate.micro_batch,
                              spec.scale == Scale::kHalving,
                              update_holders(request_, candidate));
  const auto found = models_.find(key);
  if (found != models_.end()) return found->second;
  return models_.emplace(key, staged_model(request_, candidate)).first->second;
}

double CandidateJudge::bound(const Candidate& candidate) {
  // The paper's formula needs no order: it is its own bound.
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
                           {.recompute = candidate.recompute,
                            .shard_update = request_.shard_update,
                            .saves = request_.saves,
                            .undoes_updates = undoes_updates(request_)}))};
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
