// The planner's request and its report.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "chimera/plan/memory_model.h"
#include "chimera/plan/profile.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/scheme.h"

namespace chimera {

// Source of step times: the simulator, which handles every scheme, or the
// paper's formula (paper_model.h), which handles the schemes that it covers.
enum class CostModel { kSimulate, kPaper };

struct PlanRequest {
  ModelShape model;
  Profile profile;
  int workers = 1;  // P = W x D
  int batch = 1;    // samples per step, over all copies
  double memory_bytes = std::numeric_limits<double>::infinity();  // of a worker
  // Empty: all synchronous schemes. Asynchronous schemes train with stale
  // weights, so they must be named to be considered.
  std::vector<std::string> schemes;
  CostModel cost_model = CostModel::kSimulate;
  OptimizerKind optimizer = OptimizerKind::kAdamW;
  double momentum = 0;
  Precision precision = Precision::kFloat32;
  bool shard_update = false;
  bool saves = false;              // run.save_every
  bool vote_gates_update = false;  // clipping, or updates may be skipped
  // run.recover: synchronous schemes update after the vote.
  bool recovers = false;
  bool late_vote = false;  // train.vote = "late": those updates run before it
};

// One point of the planner's space.
struct Candidate {
  ScheduleSpec spec;  // pipes, chunks and shape filled in
  int micro_batch = 1;
  Recompute recompute = false;

  bool operator==(const Candidate&) const = default;
};

// Whether the candidate is only copies of the whole model, whatever its scheme.
[[nodiscard]] inline bool is_data_parallel(const Candidate& candidate) {
  return candidate.spec.depth == 1;
}

// The parts of a step's time, in seconds. The first five members add up to the
// step.
struct PlanTimes {
  double compute = 0;    // F, B and updates; mean over the workers
  double recompute = 0;  // recomputation; mean over the workers
  double bubble = 0;     // idle time with free messages and sums
  double message = 0;    // added by messages
  double sum = 0;        // added by gradient sums
  // Seconds that a step of the scheme's best plan would save without a memory
  // limit. Not part of the sum.
  double memory = 0;
};

struct Plan {
  Candidate candidate;
  Sync sync = Sync::kEagerOpt;
  std::vector<int> cut;
  double step_s = 0;
  double bubble_ratio = 0;
  WorkerBytes peak;  // of the worker that needs most bytes
  PlanTimes times;
  // The compute-only order of a planned scheme. Empty for all others, whose
  // name determines the order.
  std::optional<Schedule> order = {};
};

// A change of the request that makes another plan the fastest.
struct PlanChange {
  enum class What { kSlowerLinks, kFasterLinks, kSmallerBatch, kLargerBatch };

  What what = What::kSlowerLinks;
  double factor = 2;
  size_t plan = 0;  // index in PlanReport::plans
  double step_s = 0;
  // The first plan's step time after the change; empty: the plan is then
  // impossible.
  std::optional<double> first_step_s = {};
};

struct PlanReport {
  std::vector<Plan> plans;  // the best of every scheme, best first
  // At most one: a plan faster than plans[0] that needs more memory.
  std::vector<Plan> too_large;
  std::vector<PlanChange> changes;  // plan_changes.h
  // How much of the space was searched.
  int candidates = 0;  // legal layouts
  int judged = 0;      // candidates neither bound nor memory ruled out
};

}  // namespace chimera
