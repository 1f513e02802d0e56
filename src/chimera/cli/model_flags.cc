#include "chimera/cli/model_flags.h"

#include "chimera/base/text.h"
#include "chimera/config/presets.h"
#include "chimera/plan/plan_inputs.h"

namespace chimera {

RunConfig model_flag(const std::string& name, Values& values) {
  RunConfig stand_in = read_model("gpt2-tiny").value();
  if (!name.empty()) return values.take(read_model(name), stand_in);
  const Names presets = preset_names();
  values.refuse({.code = "E402",
                 .found = "--model",
                 .needed = "is missing",
                 .hint = "a run.toml or one of " +
                         join({presets.begin(), presets.end()}, ", ")});
  return stand_in;
}

Profile profile_flag(const std::string& name, Values& values) {
  return values.take(read_profile(name), read_profile("").value());
}

void NodeFlags::add_to(Command& command, const std::string& heading) {
  command.add_value(
      "--ranks-per-node", ranks,
      "ranks that share a node, if the profile has [node] (default: its)", "K",
      heading);
  command.add_value(
      "--distribution", distribution,
      "how ranks are dealt out to nodes: block (default), so many in a row; "
      "cyclic, in turns",
      "HOW", heading);
}

void NodeFlags::set(Profile& profile, Values& values) const {
  const std::optional<int> asked = values.integer("--ranks-per-node", ranks);
  const auto dealt = values.named<Distribution>("--distribution", distribution);
  if (asked || dealt) {
    values.refuse(check_nodes(profile,
                              asked ? "--ranks-per-node " + shown(ranks)
                                    : "--distribution " + shown(distribution),
                              asked));
  }
  if (profile.node) {
    profile.node->ranks = asked.value_or(profile.node->ranks);
    profile.node->distribution = dealt.value_or(Distribution::kBlock);
  }
}

}  // namespace chimera
