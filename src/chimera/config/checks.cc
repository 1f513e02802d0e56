#include "chimera/config/checks.h"

#include <fmt/format.h>

#include "chimera/config/model_checks.h"

namespace chimera {
namespace {

void check_halving(Draft& draft) {
  const ScheduleConfig& schedule = draft.config.schedule;
  if (!draft.are_sound({"schedule.scale", "schedule.micro_batch"})) return;
  if (schedule.spec.scale != Scale::kHalving) return;
  if (schedule.micro_batch.value_or(0) % 2 == 0) return;
  const int odd = *schedule.micro_batch;
  draft.report(
      draft.place_of({"schedule.micro_batch"}),
      {.code = "E023",
       .where = "",
       .found = fmt::format("schedule.micro_batch = {}", odd),
       .needed = "must be even, as schedule.scale = \"halving\" runs a "
                 "backward in two halves",
       .hint = odd == 1 ? std::string("use 2")
                        : fmt::format("use {} or {}", odd - 1, odd + 1)});
}

void check_cut(Draft& draft) {
  const std::vector<int>& cut = draft.config.schedule.cut;
  for (std::size_t stage = 0; stage < cut.size(); ++stage) {
    const bool fits = stage == 0 ? cut[0] == 0 : cut[stage] > cut[stage - 1];
    if (fits) continue;
    draft.report(
        draft.place_of({"schedule.cut"}),
        {.code = "E031",
         .where = "",
         .found = fmt::format("schedule.cut[{}] = {}", stage, cut[stage]),
         .needed = stage == 0
                       ? std::string("must be 0")
                       : fmt::format("must be above schedule.cut[{}] = {}",
                                     stage - 1, cut[stage - 1]),
         .hint = "cut lists the first layer of each stage"});
    return;
  }
}

std::vector<std::string_view> missing_in_schedule(const RunConfig& config) {
  const ScheduleConfig& schedule = config.schedule;
  std::vector<std::string_view> names;
  // A schedule file gives depth and micros. With replan_after, though, the file
  // holds only the order to change to.
  if (schedule.file.empty() || schedule.replan_after > 0) {
    if (schedule.spec.depth == 0) names.push_back("schedule.depth");
    if (schedule.spec.micros == 0) names.push_back("schedule.micros");
  }
  if (!schedule.micro_batch) names.push_back("schedule.micro_batch");
  return names;
}

void check_schedule(Draft& draft) {
  check_halving(draft);
  check_cut(draft);
  if (!draft.has_section("schedule")) return;
  for (const std::string_view name : missing_in_schedule(draft.config)) {
    draft.report_missing(name);
  }
}

void check_rates(Draft& draft) {
  const TrainConfig& train = draft.config.train;
  if (!draft.are_sound({"train.lr", "train.min_lr"})) return;
  if (!train.lr || train.min_lr <= *train.lr) return;
  draft.report(
      draft.place_of({"train.min_lr"}),
      {.code = "E024",
       .where = "",
       .found = fmt::format("train.min_lr = {}", train.min_lr),
       .needed = fmt::format("must be at most train.lr = {}", *train.lr),
       .hint = "min_lr is where the decay ends"});
}

void check_warmup(Draft& draft) {
  TrainConfig& train = draft.config.train;
  if (!draft.are_sound({"train.steps", "train.warmup"})) return;
  if (!train.steps || train.warmup <= *train.steps) return;
  const auto is_override = [&](std::string_view name) {
    return draft.place_of({name}).line == SourcePlace::kOverride;
  };
  // An override that shortens a run for a trial does not contradict the file's
  // warmup.
  if (is_override("train.steps") && !is_override("train.warmup")) {
    draft.config.notes.push_back(
        fmt::format("train.warmup = {} is shortened to train.steps = {}",
                    train.warmup, *train.steps));
    train.warmup = *train.steps;
    return;
  }
  draft.report(
      draft.place_of({"train.warmup"}),
      {.code = "E025",
       .where = "",
       .found = fmt::format("train.warmup = {}", train.warmup),
       .needed = fmt::format("must be at most train.steps = {}", *train.steps),
       .hint = "the rate would never reach train.lr"});
}

void check_momentum(Draft& draft) {
  const TrainConfig& train = draft.config.train;
  if (!draft.are_sound({"train.momentum", "train.optimizer"})) return;
  if (train.momentum == 0 || train.optimizer == OptimizerKind::kSgd) return;
  draft.report(draft.place_of({"train.momentum"}),
               {.code = "E029",
                .where = "",
                .found = fmt::format("train.momentum = {}", train.momentum),
                .needed = "needs train.optimizer = \"sgd\"",
                .hint = fmt::format("for {} set train.betas",
                                    name_of(train.optimizer))});
}

void check_evaluation(Draft& draft) {
  const DataConfig& data = draft.config.data;
  if (data.eval_fraction == 0 || data.eval_path.empty()) return;
  draft.report(
      draft.place_of({"data.eval_fraction"}),
      {.code = "E032",
       .where = "",
       .found = fmt::format("data.eval_fraction = {}", data.eval_fraction),
       .needed = "must not stand beside data.eval_path",
       .hint = "each says what to evaluate; remove one"});
}

void check_weights(Draft& draft) {
  const DataConfig& data = draft.config.data;
  if (!draft.are_sound({"data.path", "data.weights"})) return;
  if (data.weights.empty() || data.weights.size() == data.path.size()) return;
  draft.report(
      draft.place_of({"data.weights"}),
      {.code = "E034",
       .where = "",
       .found = fmt::format("length of data.weights = {}", data.weights.size()),
       .needed = fmt::format("must be that of data.path, {}", data.path.size()),
       .hint = "give one weight for each file or pattern"});
}

void check_packing(Draft& draft) {
  const RunConfig& config = draft.config;
  if (config.data.pack == Packing::kWindows) return;
  if (config.model.kind != ModelKind::kBert) return;
  draft.report(draft.place_of({"data.pack"}),
               {.code = "E033",
                .where = "",
                .found = "data.pack = \"documents\"",
                .needed = "needs a causal model",
                .hint = "remove it: BERT's pairs never cross documents"});
}

}  // namespace

void check_together(Draft& draft) {
  check_model(draft);
  check_schedule(draft);
  check_rates(draft);
  check_warmup(draft);
  check_momentum(draft);
  check_evaluation(draft);
  check_weights(draft);
  check_packing(draft);
}

std::vector<std::string_view> missing_for_training(const RunConfig& config) {
  std::vector<std::string_view> names = missing_in_schedule(config);
  if (!config.train.steps) names.push_back("train.steps");
  // An emulated model has no weights to update and reads no data.
  if (config.model.kind == ModelKind::kEmulated) return names;
  if (!config.train.lr) names.push_back("train.lr");
  if (config.data.path.empty()) names.push_back("data.path");
  return names;
}

}  // namespace chimera
