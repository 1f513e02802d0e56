#include "chimera/plan/run_schedule.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <tuple>

#include "chimera/base/files.h"
#include "chimera/schedule/forms.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/scheme.h"
#include "chimera/schedule/validate.h"
#include "chimera/search/search_order.h"

namespace chimera {
namespace {

Result<Schedule> read_schedule(const ScheduleConfig& config) {
  const Result<std::string> text = read_file(config.file);
  if (!text) return text.errors();
  Result<Schedule> schedule = parse_schedule(*text, config.file);
  if (!schedule) return schedule;
  Diagnostics errors;
  // 0 in the config means not given.
  const auto compare = [&](const char* name, int in_file, int in_config) {
    if (in_config == 0 || in_config == in_file) return;
    errors.push_back(
        {.code = "E560",
         .where = config.file,
         .found = std::string(name) + " = " + std::to_string(in_file),
         .needed = "must be schedule." + std::string(name) + " = " +
                   std::to_string(in_config),
         .hint = "leave it out of run.toml"});
  };
  const ScheduleSpec& spec = config.spec;
  compare("depth", schedule->depth, spec.depth);
  compare("micros", schedule->micros, spec.micros);
  compare("pipes", schedule->pipes(), spec.pipes.value_or(0));
  compare("chunks", schedule->chunks(), spec.chunks.value_or(0));
  // A width of 1 is the default on both sides, so it contradicts nothing.
  if (spec.width > 1 && schedule->width > 1) {
    compare("width", schedule->width, spec.width);
  }
  if (!errors.empty()) return errors;
  Schedule wide = *schedule;
  wide.width = std::max(wide.width, spec.width);
  const std::vector<Violation> violations = validate(wide);
  if (!violations.empty()) return to_diagnostics(violations);
  return wide;
}

// Whether updates wait for the vote. Recovery requires it, because survivors
// must apply a step's updates together or not at all.
bool vote_gates_update(const RunConfig& config, const Schedule& schedule) {
  return updates_need_vote(config.train) ||
         (config.run.recover && why_no_recovery(config, schedule).empty());
}

Diagnostics check_asynchronous(const RunConfig& config,
                               const Schedule& schedule, bool tied) {
  Diagnostics errors;
  if (!is_asynchronous(schedule)) return errors;
  const auto refuse = [&](const std::string& found, const std::string& hint) {
    errors.push_back({.code = "E561",
                      .found = found,
                      .needed = "is not possible with " + schedule.scheme +
                                ", whose stages update at different times",
                      .hint = hint});
  };
  if (config.train.clip > 0) refuse("train.clip", "set train.clip = 0");
  if (config.train.on_nan == OnNan::kSkip) {
    refuse("train.on_nan = \"skip\"", "set train.on_nan = \"stop\"");
  }
  if (tied) {
    refuse("model.tie_embeddings", "set model.tie_embeddings = false");
  }
  return errors;
}

Diagnostics check_emulated(const RunConfig& config, const Schedule& schedule) {
  Diagnostics errors;
  if (config.model.kind != ModelKind::kEmulated) return errors;
  const size_t stages = schedule.stages();
  const auto check = [&](const char* name, const std::vector<double>& times) {
    if (times.size() == 1 || times.size() == stages) return;
    errors.push_back(
        {.code = "E563",
         .found = std::to_string(times.size()) + " times in " + name,
         .needed = "must be 1 or one for each of " + std::to_string(stages) +
                   " stages"});
  };
  check("forward_ms", config.emulated.forward_ms);
  check("input_grad_ms", config.emulated.input_grad_ms);
  check("weight_grad_ms", config.emulated.weight_grad_ms);
  return errors;
}

Diagnostics check_halves(const RunConfig& config, const Schedule& schedule) {
  if (schedule.parts == 1 || *config.schedule.micro_batch % 2 == 0) return {};
  return {{.code = "E562",
           .found = "schedule.micro_batch = " +
                    std::to_string(*config.schedule.micro_batch),
           .needed = "must be even: the backward runs in two halves"}};
}

Diagnostics check_ranks(const Schedule& schedule) {
  if (std::int64_t{schedule.depth} * schedule.width <= kMostWorkers) return {};
  return {{.code = "E209",
           .found = "depth x width = " + std::to_string(schedule.depth) +
                    " x " + std::to_string(schedule.width),
           .needed = "is too large; the most is " +
                     std::to_string(kMostWorkers) + " workers",
           .hint = "use a smaller depth or width"}};
}

Diagnostics check_replan(const ScheduleConfig& config,
                         const Schedule& schedule) {
  if (config.replan_after == 0 || depends_on_costs(schedule)) return {};
  return {{.code = "E574",
           .found =
               "schedule.replan_after = " + std::to_string(config.replan_after),
           .needed = "needs an order that can be planned again",
           .hint = "use schedule.scheme = \"planned\""}};
}

bool sums_tied_weight(const Schedule& schedule) {
  return std::any_of(schedule.groups.begin(), schedule.groups.end(), is_tied);
}

// A lowered file runs unchanged, so it must already do what run.toml asks for.
Diagnostics check_lowered(const RunConfig& config, const Schedule& lowered,
                          bool tied) {
  Diagnostics errors;
  const auto need = [&](bool has, const std::string& what,
                        const std::string& why) {
    if (has) return;
    errors.push_back({.code = "E570",
                      .where = config.schedule.file,
                      .found = "the lowered schedule has " + what,
                      .needed = "as " + why,
                      .hint = "give a compute-only file: it is lowered as "
                              "run.toml says"});
  };
  const bool sums_tied = sums_tied_weight(lowered);
  const ActionList& list = lowered.actions[0];
  need(sums_tied || !tied, "no sum of the tied embedding, which it needs",
       "model.tie_embeddings = true");
  need(!sums_tied || tied, "a sum of a tied embedding that is not tied",
       "model.tie_embeddings = false");
  const Recompute recompute = config.schedule.recompute;
  const Recompute has = recomputation(lowered);
  need(has || !recompute, "no R, which it needs",
       "schedule.recompute = " + text_of(recompute));
  need(!has || !recompute || has == recompute,
       "R of another number of layers (recompute = " + text_of(has) + ")",
       "schedule.recompute = " + text_of(recompute));
  need(vote_gates_updates(list) || !vote_gates_update(config, lowered),
       "no vote before its updates",
       "train.clip, train.on_nan = \"skip\" and run.recover need it");
  const bool is_late = config.train.vote == VoteMode::kLate;
  need(!has_late_vote(list) || is_late,
       "V, which settles updates that did not wait for the vote",
       "train.vote = \"wait\"");
  need(has_late_vote(list) || !is_late || !vote_gates_updates(list),
       "no V, and updates that wait for the vote", "train.vote = \"late\"");
  return errors;
}

// The compute actions of a worker, independent of their order.
ActionList work_of(const ActionList& list) {
  ActionList work;
  std::copy_if(list.begin(), list.end(), std::back_inserter(work),
               [](const Action& action) { return is_compute(action.op); });
  const auto key = [](const Action& action) {
    return std::tuple(action.op, action.part, action.step, action.pipe,
                      action.stage, action.micro);
  };
  std::sort(work.begin(), work.end(),
            [&](const Action& a, const Action& b) { return key(a) < key(b); });
  return work;
}

// How `next` differs from the running order in more than the order of actions,
// and why that is refused; both empty if it does not. Weights, the split of
// backwards and the groups of sums are fixed before the first step.
struct Change {
  std::string what;
  std::string why_not;
};

Change change_between(const Schedule& running, const Schedule& next) {
  if (next.placement != running.placement) {
    return {"its placement",
            "must be that of the order before it: weights stay where they are"};
  }
  if (is_asynchronous(next)) {
    return {"scheme " + next.scheme, "is asynchronous, and the run is not"};
  }
  const std::string as_before = "must be as in the order before it";
  if (next.parts != running.parts) {
    return {"parts = " + std::to_string(next.parts), as_before};
  }
  if (next.recomputed_layers != running.recomputed_layers) {
    return {"recompute = " + text_of(recomputation(next)), as_before};
  }
  if (next.groups != running.groups) return {"its groups of sums", as_before};
  for (int worker = 0; worker < next.workers(); ++worker) {
    const ActionList& old_list = running.actions[worker];
    const ActionList& new_list = next.actions[worker];
    const std::string of_worker = " of worker " + std::to_string(worker);
    if (work_of(new_list) != work_of(old_list)) {
      return {"the work" + of_worker, as_before + ", in any order"};
    }
    if (vote_gates_updates(new_list) != vote_gates_updates(old_list) ||
        has_late_vote(new_list) != has_late_vote(old_list)) {
      return {"the vote" + of_worker,
              "must stand on the same side of its updates, and be as late, as "
              "in the order before it"};
    }
  }
  return {};
}

}  // namespace

Result<Schedule> make_run_schedule(const RunConfig& config,
                                   const RunScheduleOptions& options) {
  const ScheduleConfig& asked = config.schedule;
  // With replan_after the file is for later: it has the order to change to.
  const bool is_read = !asked.file.empty() && asked.replan_after == 0;
  Result<Schedule> schedule =
      is_read ? read_schedule(asked) : make_schedule(asked.spec);
  if (!schedule) return schedule;
  const bool tied = options.tied.value_or(sums_tied_weight(*schedule)) &&
                    schedule->stages() > 1;
  Diagnostics errors = check_asynchronous(config, *schedule, tied);
  for (const Diagnostics& more :
       {check_emulated(config, *schedule), check_halves(config, *schedule),
        check_replan(asked, *schedule), check_ranks(*schedule)}) {
    errors.insert(errors.end(), more.begin(), more.end());
  }
  if (!errors.empty()) return errors;
  if (is_lowered(*schedule)) {
    errors = check_lowered(config, *schedule, tied);
    if (!errors.empty()) return errors;
    return lower_checked(*schedule, {}, {.cap = asked.spec.cap});
  }
  const Costs costs = options.costs != nullptr ? *options.costs
                      : config.model.kind == ModelKind::kEmulated
                          ? emulated_costs(config, *schedule)
                          : uniform_costs(*schedule, {});
  LowerOptions lowering{
      .sync = asked.sync,
      .recompute = asked.recompute,
      .tied = tied,
      .vote_gates_update = vote_gates_update(config, *schedule),
      .late_vote = config.train.vote == VoteMode::kLate,
      .costs = &costs};
  errors = check_lowering(*schedule, lowering);
  if (!errors.empty()) return errors;
  if (!is_read) {
    const Schedule start =
        options.running != nullptr ? compute_only(*options.running) : *schedule;
    // Workers meet after each step only if updates wait for the vote.
    const bool is_steady = !lowering.vote_gates_update || lowering.late_vote;
    schedule = make_order({.spec = asked.spec,
                           .lowering = lowering,
                           .steady = is_steady,
                           .jitter = options.jitter},
                          start, costs);
  }
  return lower_checked(*schedule, lowering,
                       {.cap = asked.spec.cap, .omega = omegas(costs)});
}

Result<Schedule> make_replanned_schedule(const RunConfig& config,
                                         const RunScheduleOptions& options) {
  RunConfig next = config;
  next.schedule.replan_after = 0;
  Result<Schedule> schedule = make_run_schedule(next, options);
  if (!schedule) return schedule;
  const Change change = change_between(*options.running, *schedule);
  if (change.what.empty()) return schedule;
  return Diagnostic{.code = "E574",
                    .where = config.schedule.file,
                    .found = change.what,
                    .needed = change.why_not,
                    .hint = "use replanned.sched of the run to repeat"};
}

std::string why_no_recovery(const RunConfig& config, const Schedule& schedule) {
  if (is_asynchronous(schedule)) {
    return "the stages of " + schedule.scheme + " update at different times";
  }
  if (config.train.shard_update) {
    return "with train.shard_update a worker alone has the optimizer's state "
           "of its shard";
  }
  if (schedule.width > 1) return "";
  for (int stage = 0; stage < schedule.stages(); ++stage) {
    std::set<int> holders;
    for (int pipe = 0; pipe < schedule.pipes(); ++pipe) {
      holders.insert(schedule.placement.worker(pipe, stage));
    }
    if (holders.size() == 1) {
      return "stage " + std::to_string(stage) + " lives on one worker only";
    }
  }
  return "";
}

namespace {

double time_per_byte(double gbps) { return gbps > 0 ? 8 / (gbps * 1e9) : 0; }

}  // namespace

Costs emulated_costs(const RunConfig& config, const Schedule& schedule) {
  const EmulatedConfig& emulated = config.emulated;
  const auto seconds = [&](const std::vector<double>& ms, int stage) {
    // A single number is the time of one D-th of the model.
    const bool one = ms.size() == 1;
    return ms[one ? 0 : stage] / 1e3 / (one ? schedule.chunks() : 1);
  };
  Costs costs;
  for (int stage = 0; stage < schedule.stages(); ++stage) {
    StageCosts& cost = costs.stages.emplace_back();
    cost.forward = seconds(emulated.forward_ms, stage);
    cost.input_grad = seconds(emulated.input_grad_ms, stage);
    cost.weight_grad = seconds(emulated.weight_grad_ms, stage);
    cost.update = emulated.update_ms / 1e3 / schedule.chunks();
    cost.boundary_bytes = static_cast<double>(emulated.boundary_bytes);
    cost.gradient_bytes =
        static_cast<double>(emulated.grad_bytes) / schedule.chunks();
  }
  costs.latency = emulated.link_latency_ms / 1e3;
  costs.time_per_byte = time_per_byte(emulated.link_gbps);
  if (emulated.node_ranks) {
    costs.node = {
        .ranks = *emulated.node_ranks,
        .latency = emulated.node_latency_ms.value_or(0) / 1e3,
        .time_per_byte = time_per_byte(emulated.node_gbps.value_or(0))};
  }
  return costs;
}

}  // namespace chimera
