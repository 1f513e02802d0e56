#include <algorithm>
#include <functional>

#include "chimera/base/text.h"
#include "chimera/plan/profile_section.h"
#include "chimera/plan/profile_text.h"

namespace chimera {
namespace {

constexpr double kGiga = 1e9;
constexpr double kMebi = 1024.0 * 1024;

class ProfileParser {
 public:
  explicit ProfileParser(const std::string& file_name) : file_(file_name) {}

  Result<Profile> run(const TomlDocument& document) {
    for (const TomlEntry& entry : document.loose) refuse_loose(entry);
    for (const TomlSection& section : document.sections) take(section);
    require("machine", has_machine_);
    require("link", has_link_);
    if (!has_sum_) profile_.sum = profile_.link;
    const bool has_block = std::any_of(
        profile_.layers.begin(), profile_.layers.end(), [](const auto& layer) {
          return layer.shape.kind == LayerKind::kBlock;
        });
    if (errors_.empty() && !has_block) {
      errors_.push_back({.code = "E602",
                         .where = file_,
                         .found = "no layer = \"block\"",
                         .needed = "is in the profile: all other times can be "
                                   "scaled from a block's, but not without"});
    }
    if (!errors_.empty()) return errors_;
    return profile_;
  }

 private:
  void take(const TomlSection& section) {
    ProfileSection reader(section, errors_);
    if (section.name == "machine") {
      take_machine(reader);
    } else if (section.name == "link") {
      has_link_ = true;
      profile_.link = link(reader);
      profile_.link.s_per_message =
          reader.number("message_us", Need::kOptional).value_or(0) / 1e6;
      profile_.link.blocking = reader.flag("blocking");
    } else if (section.name == "sum") {
      has_sum_ = true;
      profile_.sum = link(reader);
      profile_.sum.node_s_per_byte = s_per_byte(
          reader.number("node_gb_per_s", Need::kOptional).value_or(0));
    } else if (section.name == "node") {
      take_node(reader);
    } else if (section.name == "update") {
      profile_.update_s_per_parameter =
          reader.number("ns_per_parameter", Need::kRequired).value_or(0) / 1e9;
    } else if (section.name == "block_factor") {
      take_factors(reader);
    } else if (!reader.has("layer")) {
      refuse_section(section);
      return;
    } else {
      take_layer(section.name, reader);
    }
    reader.refuse_unknown();
  }

  void take_machine(ProfileSection& reader) {
    has_machine_ = true;
    profile_.name = reader.text("name", Need::kRequired);
    profile_.description = reader.text("description", Need::kOptional);
    profile_.source = reader.text("source", Need::kOptional);
    profile_.memory_bytes =
        reader.number("memory_gb", Need::kOptional, {.most = 1e9}).value_or(0) *
        kGiga;
    profile_.cores = reader.count("cores", Need::kOptional);
    profile_.threads = reader.count("threads", Need::kOptional);
    profile_.contention =
        reader.number("contention", Need::kOptional, {.most = 1e3}).value_or(0);
    profile_.jitter =
        reader.number("jitter", Need::kOptional, {.most = 1}).value_or(0);
  }

  void take_node(ProfileSection& reader) {
    const int ranks = reader.count("ranks", Need::kRequired);
    const LinkProfile within = link(reader);
    profile_.node = {std::max(1, ranks), within.latency_s, within.s_per_byte};
  }

  static LinkProfile link(ProfileSection& reader) {
    LinkProfile link;
    link.latency_s =
        reader.number("latency_us", Need::kRequired).value_or(0) / 1e6;
    link.s_per_byte =
        s_per_byte(reader.number("gb_per_s", Need::kRequired).value_or(0));
    return link;
  }

  static double s_per_byte(double gb_per_s) {
    return gb_per_s > 0 ? 1 / (gb_per_s * kGiga) : 0;
  }

  void take_factors(ProfileSection& reader) {
    for (size_t kind = 0; kind < profile_.block_factor.size(); ++kind) {
      profile_.block_factor[kind] =
          reader
              .number(kModelKindNames[kind], Need::kOptional,
                      {.least = 0.01, .most = 100})
              .value_or(1);
    }
  }

  void take_layer(const std::string& name, ProfileSection& reader) {
    LayerProfile layer{.name = name};
    const std::optional<int> kind =
        reader.choice("layer", kLayerKindNames, Need::kRequired);
    layer.shape.kind = static_cast<LayerKind>(kind.value_or(1));
    const bool block = layer.shape.kind == LayerKind::kBlock;
    const Need of_block = block ? Need::kRequired : Need::kOptional;
    const Need of_end = block ? Need::kOptional : Need::kRequired;
    constexpr Names kTransformers = Names(kModelKindNames).first(3);
    layer.shape.model = static_cast<ModelKind>(
        reader.choice("model", kTransformers, of_end).value_or(0));
    layer.shape.precision = static_cast<Precision>(
        reader.choice("precision", kPrecisionNames, Need::kOptional)
            .value_or(0));
    layer.shape.hidden = reader.count("hidden", Need::kRequired);
    layer.shape.heads = reader.count("heads", of_block);
    layer.shape.ffn = reader.count("ffn", of_block);
    layer.shape.seq = reader.count("seq", Need::kRequired);
    layer.shape.vocab = reader.count("vocab", of_end);
    const Need of_llama = block && layer.shape.model == ModelKind::kLlama
                              ? Need::kRequired
                              : Need::kOptional;
    layer.shape.kv_heads = reader.count("kv_heads", of_llama);
    layer.shape.head_dim = reader.count("head_dim", of_llama);
    layer.derived = reader.flag("derived");
    layer.table = table(reader, block);
    profile_.layers.push_back(std::move(layer));
  }

  static LayerTable table(ProfileSection& reader, bool block) {
    // Only a block must take time; other times are added to those of blocks.
    const NumberRange times = {.least = block ? 1e-6 : 0};
    LayerTable table;
    table.micro_batch = reader.numbers("micro_batch", Need::kRequired,
                                       {.least = 1, .most = 1e6});
    const std::vector<double>& sizes = table.micro_batch;
    if (std::adjacent_find(sizes.begin(), sizes.end(),
                           std::greater_equal<>()) != sizes.end()) {
      reader.refuse(
          "micro_batch",
          {.code = "E601", .found = "micro_batch", .needed = "must ascend"});
    }
    const auto column = [&](std::string_view key, Need need, double unit,
                            NumberRange range = {}) {
      std::vector<double> values = reader.numbers(key, need, range);
      if (!values.empty() && values.size() != sizes.size()) {
        reader.refuse(key, {.code = "E030",
                            .found = "length of " + std::string(key) + " = " +
                                     std::to_string(values.size()),
                            .needed = "must be that of micro_batch, " +
                                      std::to_string(sizes.size())});
      }
      for (double& value : values) value *= unit;
      return values;
    };
    table.forward_s = column("forward_ms", Need::kRequired, 1e-3, times);
    table.input_grad_s = column("input_grad_ms", Need::kRequired, 1e-3, times);
    table.weight_grad_s =
        column("weight_grad_ms", Need::kRequired, 1e-3, times);
    const auto bytes = [&](std::string_view key) {
      return column(key, Need::kOptional, kMebi, {.most = 1e7});
    };
    table.activation_bytes = bytes("activation_mib");
    table.workspace_bytes = bytes("workspace_mib");
    table.deferred_bytes = bytes("deferred_mib");
    table.input_workspace_bytes = bytes("input_workspace_mib");
    table.spread = column("spread", Need::kOptional, 1);
    return table;
  }

  void refuse_section(const TomlSection& section) {
    const std::string near = nearest_name(
        section.name,
        {"machine", "link", "sum", "node", "update", "block_factor"});
    errors_.push_back(
        {.code = "E004",
         .where = section.place.text,
         .found = "section [" + shown(section.name) + "]",
         .needed = "must be machine, link, sum, node, update, block_factor or "
                   "have a key "
                   "layer",
         .hint = near.empty() ? "layer = \"block\", \"embedding\" or \"head\""
                              : "did you mean " + near + "?"});
  }

  void refuse_loose(const TomlEntry& entry) {
    errors_.push_back({.code = "E006",
                       .where = entry.place.text,
                       .found = shown(std::string_view(entry.name)),
                       .needed = "must stand below a [section]"});
  }

  void require(const std::string& section, bool has) {
    if (has) return;
    errors_.push_back({.code = "E020",
                       .where = file_,
                       .found = "section [" + section + "]",
                       .needed = "is missing"});
  }

  std::string file_;
  Diagnostics errors_;
  Profile profile_;
  bool has_machine_ = false;
  bool has_link_ = false;
  bool has_sum_ = false;
};

}  // namespace

Result<Profile> parse_profile(std::string_view text,
                              const std::string& file_name) {
  const Result<TomlDocument> document = read_toml(text, file_name);
  if (!document) return document.errors();
  return ProfileParser(file_name).run(*document);
}

}  // namespace chimera
