#include <fmt/format.h>

#include "chimera/base/text.h"
#include "chimera/config/toml_text.h"
#include "chimera/plan/profile_text.h"

namespace chimera {
namespace {

constexpr double kMebi = 1024.0 * 1024;

std::string list(const char* key, const std::vector<double>& values,
                 double unit) {
  if (values.empty()) return "";
  std::vector<std::string> words;
  words.reserve(values.size());
  for (const double value : values) words.push_back(number(value / unit));
  return fmt::format("{} = [{}]\n", key, join(words, ", "));
}

std::string gb_per_s(double s_per_byte) {
  return number(s_per_byte > 0 ? 1e-9 / s_per_byte : 0);
}

std::string link(const char* section, const LinkProfile& link) {
  std::string text =
      fmt::format("\n[{}]\nlatency_us = {}\ngb_per_s = {}\n", section,
                  number(link.latency_s * 1e6), gb_per_s(link.s_per_byte));
  if (link.s_per_message > 0) {
    text += fmt::format("message_us = {}\n", number(link.s_per_message * 1e6));
  }
  if (link.node_s_per_byte > 0) {
    text += "node_gb_per_s = " + gb_per_s(link.node_s_per_byte) + "\n";
  }
  return text + (link.blocking ? "blocking = true\n" : "");
}

std::string layer_text(const LayerProfile& layer) {
  const LayerShape& shape = layer.shape;
  // Always quoted, although a name of letters, digits, - and _ would not need
  // it.
  std::string text = fmt::format("\n[{}]\nlayer = \"{}\"\n",
                                 toml_string(layer.name), name_of(shape.kind));
  if (layer.derived) text += "derived = true\n";
  const auto count = [&](const char* key, int value) {
    if (value > 0) text += fmt::format("{} = {}\n", key, value);
  };
  if (shape.kind != LayerKind::kBlock || shape.model == ModelKind::kLlama) {
    text += fmt::format("model = \"{}\"\n", name_of(shape.model));
  }
  if (shape.precision != Precision::kFloat32) {
    text += fmt::format("precision = \"{}\"\n", name_of(shape.precision));
  }
  count("hidden", shape.hidden);
  count("heads", shape.heads);
  count("ffn", shape.ffn);
  count("seq", shape.seq);
  count("vocab", shape.vocab);
  count("kv_heads", shape.kv_heads);
  count("head_dim", shape.head_dim);
  const LayerTable& table = layer.table;
  return text + list("micro_batch", table.micro_batch, 1) +
         list("forward_ms", table.forward_s, 1e-3) +
         list("input_grad_ms", table.input_grad_s, 1e-3) +
         list("weight_grad_ms", table.weight_grad_s, 1e-3) +
         list("activation_mib", table.activation_bytes, kMebi) +
         list("workspace_mib", table.workspace_bytes, kMebi) +
         list("deferred_mib", table.deferred_bytes, kMebi) +
         list("input_workspace_mib", table.input_workspace_bytes, kMebi) +
         list("spread", table.spread, 1);
}

}  // namespace

std::string print_profile(const Profile& profile) {
  std::string text =
      fmt::format("[machine]\nname = {}\n", toml_string(profile.name));
  if (!profile.description.empty()) {
    text += "description = " + toml_string(profile.description) + "\n";
  }
  if (!profile.source.empty()) {
    text += "source = " + toml_string(profile.source) + "\n";
  }
  if (profile.memory_bytes > 0) {
    text += fmt::format("memory_gb = {}\n", number(profile.memory_bytes / 1e9));
  }
  const auto count = [&](const char* key, int value) {
    if (value > 0) text += fmt::format("{} = {}\n", key, value);
  };
  count("cores", profile.cores);
  count("threads", profile.threads);
  const auto share = [&](const char* key, double value) {
    if (value > 0) text += fmt::format("{} = {}\n", key, number(value));
  };
  share("contention", profile.contention);
  share("jitter", profile.jitter);
  text += link("link", profile.link);
  if (profile.sum != profile.link) text += link("sum", profile.sum);
  if (profile.node) {
    text += fmt::format(
        "\n[node]\nranks = {}\nlatency_us = {}\n"
        "gb_per_s = {}\n",
        profile.node->ranks, number(profile.node->latency_s * 1e6),
        gb_per_s(profile.node->s_per_byte));
  }
  text += fmt::format("\n[update]\nns_per_parameter = {}\n",
                      number(profile.update_s_per_parameter * 1e9));
  std::string factors;
  for (size_t kind = 0; kind < profile.block_factor.size(); ++kind) {
    if (profile.block_factor[kind] == 1) continue;
    factors += fmt::format("{} = {}\n", kModelKindNames[kind],
                           number(profile.block_factor[kind]));
  }
  if (!factors.empty()) text += "\n[block_factor]\n" + factors;
  for (const LayerProfile& layer : profile.layers) text += layer_text(layer);
  return text;
}

}  // namespace chimera
