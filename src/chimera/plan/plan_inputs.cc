#include "chimera/plan/plan_inputs.h"

#include "chimera/base/files.h"
#include "chimera/base/text.h"
#include "chimera/config/parse.h"
#include "chimera/config/presets.h"
#include "chimera/plan/builtin_profiles.h"
#include "chimera/plan/profile_text.h"

namespace chimera {
namespace {

// The text of a file, or why it cannot be read, with `hint`.
Result<std::string> read_or_hint(const std::string& path,
                                 const std::string& hint) {
  Result<std::string> text = read_file(path);
  if (text) return text;
  Diagnostic error = text.errors()[0];
  error.hint = hint;
  return error;
}

std::string preset_hint(const std::string& name) {
  const Names presets = preset_names();
  const std::vector<std::string> names(presets.begin(), presets.end());
  const std::string near = nearest_name(name, names);
  return near.empty() ? "or one of the presets " + join(names, ", ")
                      : "did you mean the preset " + near + "?";
}

}  // namespace

Result<RunConfig> read_model(const std::string& name) {
  if (find_preset(name)) {
    return parse_run_config("[model]\npreset = \"" + name + "\"\n", name, {});
  }
  const Result<std::string> text = read_or_hint(name, preset_hint(name));
  if (!text) return text.errors();
  Result<RunConfig> config = parse_run_config(*text, name, {});
  if (!config || config->model.kind == ModelKind::kEmulated ||
      has_shape(config->model)) {
    return config;
  }
  return Diagnostic{
      .code = "E604",
      .where = name,
      .found = "a model without layers, hidden, heads, vocab, seq",
      .needed = "has no costs",
      .hint = "give its shape, or a preset"};
}

Result<Profile> read_profile(const std::string& given) {
  const std::string name = given.empty() ? kDefaultProfile : given;
  if (const auto known = builtin_profile(name)) return *known;
  const Result<std::string> text =
      read_or_hint(name, "built in are " + join(builtin_profile_names(), ", "));
  if (!text) return text.errors();
  return parse_profile(*text, name);
}

PlanRequest request_of(const RunConfig& config) {
  const TrainConfig& train = config.train;
  return {.model = shape_of(config.model),
          .optimizer = train.optimizer,
          .momentum = train.momentum,
          .precision = train.precision,
          .shard_update = train.shard_update,
          .saves = config.run.save_every > 0,
          .vote_gates_update = updates_need_vote(train),
          .recovers = config.run.recover && !train.shard_update,
          .late_vote = train.vote == VoteMode::kLate};
}

Diagnostics check_nodes(const Profile& profile, const std::string& found,
                        std::optional<int> ranks) {
  if (ranks && *ranks < 1) {
    return {{.code = "E403", .found = found, .needed = "must be at least 1"}};
  }
  if (profile.node) return {};
  return {{.code = "E606",
           .found = found,
           .needed = "needs a profile with links within a node",
           .hint = "add [node] with ranks, latency_us and gb_per_s to it, or "
                   "use a100 or h100"}};
}

}  // namespace chimera
