#include "chimera/cli/machine.h"

#include <algorithm>

#include "chimera/base/text.h"
#include "chimera/config/presets.h"
#include "chimera/plan/forecast.h"
#include "chimera/plan/model_layers.h"
#include "chimera/plan/run_schedule.h"
#include "chimera/schedule/cut.h"

namespace chimera {

void MachineFlags::add_to(Command& command) {
  const auto option = [&](const char* flag, std::string& value,
                          const char* help, const char* type) {
    command.add_value(flag, value, help, type, "Machine");
  };
  option("--model", model,
         "costs of this model: a run.toml, whose schedule is taken too if no "
         "other is given, or a preset",
         "MODEL");
  option("--profile", profile,
         "on this machine: a profile.toml, or p100 (default), v100, rtx3090, "
         "a100, h100",
         "PROFILE");
  nodes.add_to(command, "Machine");
  option("--micro-batch", micro_batch,
         "samples of a micro-batch (default: the run.toml's, else 1)", "B");
  option("--buckets", buckets,
         "parts of a gradient sum that run at once, where the profile has a "
         "node_gb_per_s (default 1)",
         "K");
}

bool MachineFlags::any_given() const {
  return !model.empty() || !profile.empty() || !micro_batch.empty() ||
         !buckets.empty() || nodes.any_given();
}

Machine::Machine(const MachineFlags& flags, Values& values)
    : config_(model_flag(flags.model, values)),
      profile_(profile_flag(flags.profile, values)),
      is_preset_(find_preset(flags.model).has_value()) {
  flags.nodes.set(profile_, values);
  const std::optional<int> given =
      values.integer("--micro-batch", flags.micro_batch);
  micro_batch_ = given.value_or(config_.schedule.micro_batch.value_or(1));
  if (micro_batch_ < 1) {
    values.refuse({.code = "E403",
                   .found = "--micro-batch " + shown(flags.micro_batch),
                   .needed = "must be at least 1"});
  }
  config_.schedule.micro_batch = micro_batch_;
  buckets_ = values.integer("--buckets", flags.buckets).value_or(1);
  if (buckets_ < 1) {
    values.refuse({.code = "E403",
                   .found = "--buckets " + shown(flags.buckets),
                   .needed = "must be at least 1"});
  }
}

Result<Schedule> Machine::own_schedule() const {
  const ScheduleConfig& asked = config_.schedule;
  const bool is_given = asked.spec.depth > 0 && asked.spec.micros > 0;
  if (asked.file.empty() && !is_given) {
    return Diagnostic{.code = "E402",
                      .found = "the schedule",
                      .needed = "is missing: --model has none",
                      .hint = "give a scheme, or --schedule FILE"};
  }
  return make_run_schedule(config_, {.tied = is_tied()});
}

bool Machine::ties(const Schedule& schedule) const {
  return is_tied() && !is_asynchronous(schedule) && schedule.stages() > 1;
}

RunConfig Machine::cut_for(const Schedule& schedule) const {
  RunConfig config = config_;
  if (is_preset_) {
    config.schedule.cut = staged_model(shape_of(config.model), profile_,
                                       {.stages = schedule.stages(),
                                        .micro_batch = micro_batch_,
                                        .parts = schedule.parts})
                              .cut;
  }
  return config;
}

bool Machine::is_tied() const {
  return !is_emulated() && config_.model.tie_embeddings.value_or(false);
}

Diagnostics Machine::refuse(const Schedule& schedule) const {
  const int stages = schedule.stages();
  if (!is_emulated() && micro_batch_ % schedule.parts != 0) {
    return {{.code = "E562",
             .found = "micro-batches of " + std::to_string(micro_batch_),
             .needed = "must be even, as backwards run in two halves",
             .hint = "use --micro-batch " + std::to_string(micro_batch_ + 1)}};
  }
  if (!is_emulated()) {
    const int layers = num_layers(shape_of(config_.model));
    const std::vector<int>& cut = config_.schedule.cut;
    // Ignores a cut into another number of stages, which was meant for another
    // schedule.
    return check_cut(
        static_cast<int>(cut.size()) == stages ? cut : std::vector<int>(),
        stages, layers);
  }
  const auto fits = [&](const std::vector<double>& times) {
    return times.size() == 1 || static_cast<int>(times.size()) == stages;
  };
  const EmulatedConfig& emulated = config_.emulated;
  if (fits(emulated.forward_ms) && fits(emulated.input_grad_ms) &&
      fits(emulated.weight_grad_ms)) {
    return {};
  }
  return {{.code = "E563",
           .found = "emulated times",
           .needed = "must be 1 or one for each of " + std::to_string(stages) +
                     " stages"}};
}

Costs Machine::costs(const Schedule& schedule) const {
  if (is_emulated()) return emulated_costs(config_, schedule);
  Costs costs = staged_run(cut_for(schedule), profile_, schedule).costs;
  SumCosts& sums = *costs.sums;
  // Without a limit on the node, the parts of a sum that run at once share its
  // links.
  if (sums.node_time_per_byte > 0) {
    sums.time_per_byte =
        std::max(sums.time_per_byte / buckets_, sums.node_time_per_byte);
  }
  return costs;
}

std::vector<double> Machine::peak_bytes(const Schedule& lowered) const {
  if (is_emulated()) return {};
  return run_bytes(cut_for(lowered), profile_, lowered);
}

void Machine::describe_host(SimulateOptions& options) const {
  if (is_emulated() || profile_.cores == 0) return;
  if (options.cores == 0) {
    options.cores = std::max(1, profile_.cores / std::max(1, profile_.threads));
  }
  options.contention = profile_.contention;
  options.jitter = profile_.jitter;
}

}  // namespace chimera
