// What the planner is asked and what it answers.
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

// Source of step times: the simulator, for every scheme, or the paper's formula
// (paper_model.h) for those that have one.
enum class CostModel { kSimulate, kPaper };

struct PlanRequest {
  ModelShape model;
  Profile profile;
  int workers = 1;  // P = W x D
  int batch = 1;    // samples of a step, of all copies
  double memory_bytes = std::numeric_limits<double>::infinity();  // of a worker
  // Empty: every synchronous scheme. Asynchronous ones train with stale
  // weights, so they are only taken when they are named.
  std::vector<std::string> schemes;
  CostModel cost_model = CostModel::kSimulate;
  OptimizerKind optimizer = OptimizerKind::kAdamW;
  double momentum = 0;
  bool shard_update = false;
  bool saves = false;              // run.save_every
  bool vote_gates_update = false;  // clipping, or updates that may be skipped
  // run.recover: updates of synchronous schemes wait for the vote
  bool recovers = false;
  bool late_vote = false;  // such updates do not wait: train.vote
};

// One point of the planner's space.
struct Candidate {
  ScheduleSpec spec;  // pipes, chunks and shape filled in
  int micro_batch = 1;
  bool recompute = false;

  bool operator==(const Candidate&) const = default;
};

// Where the time of a step goes, in seconds. The first five add up to it.
struct PlanTimes {
  double compute = 0;    // F, B and updates: what a worker has to do on average
  double recompute = 0;  // same, of recomputation
  double bubble = 0;     // idle with free messages and sums
  double message = 0;    // what messages add
  double sum = 0;        // what gradient sums add
  // How much faster the scheme's best plan without a memory limit is.
  double memory = 0;
};

struct Plan {
  Candidate candidate;
  Sync sync = Sync::kEagerOpt;
  std::vector<int> cut;
  double step_s = 0;
  double bubble_ratio = 0;
  WorkerBytes peak;  // of the worker that needs most
  PlanTimes times;
  // Compute-only, where the scheme's name does not say it: planned orders.
  std::optional<Schedule> order = {};
};

// A change under which another plan than the first is the fastest.
struct PlanChange {
  enum class What { kSlowerLinks, kFasterLinks, kSmallerBatch, kLargerBatch };

  What what = What::kSlowerLinks;
  double factor = 2;
  size_t plan = 0;  // of PlanReport::plans
  double step_s = 0;
  std::optional<double> first_step_s = {};  // absent: it is not possible then
};

struct PlanReport {
  std::vector<Plan> plans;  // the best of every scheme, best first
  // Faster than plans[0], but it needs more memory; at most one.
  std::vector<Plan> too_large;
  std::vector<PlanChange> changes;  // plan_changes.h
  // How the answer was found.
  int candidates = 0;  // legal layouts
  int judged = 0;      // not ruled out by a bound or by memory
};

}  // namespace chimera
