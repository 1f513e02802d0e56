#include "chimera/cli/model_flags.h"

#include "chimera/base/files.h"
#include "chimera/base/text.h"
#include "chimera/config/parse.h"
#include "chimera/config/presets.h"
#include "chimera/plan/builtin_profiles.h"
#include "chimera/plan/profile_text.h"

namespace chimera {
namespace {

RunConfig preset_config(const std::string& name) {
  return parse_run_config("[model]\npreset = \"" + name + "\"\n", name, {})
      .value();
}

}  // namespace

RunConfig read_model(const std::string& name, Values& values) {
  RunConfig stand_in = preset_config("gpt2-tiny");
  const Names presets = preset_names();
  const std::vector<std::string> names(presets.begin(), presets.end());
  if (name.empty()) {
    values.refuse({.code = "E402",
                   .found = "--model",
                   .needed = "is missing",
                   .hint = "a run.toml or one of " + join(names, ", ")});
    return stand_in;
  }
  if (find_preset(name)) return preset_config(name);
  const Result<std::string> text = read_file(name);
  if (!text) {
    const std::string near = nearest_name(name, names);
    Diagnostic error = text.errors()[0];
    error.hint = near.empty() ? "or one of the presets " + join(names, ", ")
                              : "did you mean the preset " + near + "?";
    values.refuse(error);
    return stand_in;
  }
  const Result<RunConfig> config = parse_run_config(*text, name, {});
  if (!config) {
    values.refuse(config.errors());
    return stand_in;
  }
  if (config->model.kind == ModelKind::kEmulated || has_shape(config->model)) {
    return *config;
  }
  values.refuse({.code = "E604",
                 .where = name,
                 .found = "a model without layers, hidden, heads, vocab, seq",
                 .needed = "has no costs",
                 .hint = "give its shape, or a preset"});
  return stand_in;
}

Profile read_profile(const std::string& given, Values& values) {
  const std::string name = given.empty() ? kDefaultProfile : given;
  if (auto known = builtin_profile(name)) return *known;
  Profile stand_in = *builtin_profile(kDefaultProfile);
  const Result<std::string> text = read_file(name);
  if (!text) {
    Diagnostic error = text.errors()[0];
    error.hint = "built in are " + join(builtin_profile_names(), ", ");
    values.refuse(error);
    return stand_in;
  }
  const Result<Profile> read = parse_profile(*text, name);
  if (read) return *read;
  values.refuse(read.errors());
  return stand_in;
}

void set_ranks_per_node(const std::string& text, Profile& profile,
                        Values& values) {
  const std::optional<int> ranks = values.integer("--ranks-per-node", text);
  if (!ranks) return;
  if (*ranks < 1) {
    values.refuse({.code = "E403",
                   .found = "--ranks-per-node " + shown(text),
                   .needed = "must be at least 1"});
  } else if (!profile.node) {
    values.refuse({.code = "E606",
                   .found = "--ranks-per-node " + shown(text),
                   .needed = "needs a profile with links within a node",
                   .hint = "add [node] with ranks, latency_us and gb_per_s to "
                           "it, or use a100 or h100"});
  } else {
    profile.node->ranks = *ranks;
  }
}

}  // namespace chimera
