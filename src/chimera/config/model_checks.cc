#include "chimera/config/model_checks.h"

#include <fmt/format.h>

#include "chimera/config/presets.h"

namespace chimera {
namespace {

const char* needed_kind(KeyUse use) {
  if (use == KeyUse::kEmulated) return "needs model.kind = \"emulated\"";
  if (use == KeyUse::kLlama) return "needs model.kind = \"llama\"";
  return "needs model.kind = \"gpt2\", \"bert\" or \"llama\"";
}

void check_uses(Draft& draft) {
  const ModelKind kind = draft.config.model.kind;
  for (const ConfigKey& key : config_keys()) {
    if (is_used_by(key, kind) || !draft.is_given(full_name(key))) continue;
    draft.report(
        draft.place_of({full_name(key)}),
        {.code = "E026",
         .where = "",
         .found = full_name(key),
         .needed = needed_kind(key.use),
         .hint = fmt::format("remove it, or change model.kind = \"{}\"",
                             name_of(kind))});
  }
}

void check_preset(Draft& draft) {
  const ModelConfig& model = draft.config.model;
  const auto preset = find_preset(model.preset);
  if (!preset || model.kind == ModelKind::kEmulated) return;
  if (preset->kind != model.kind) {
    draft.report(
        draft.place_of({"model.kind"}),
        {.code = "E027",
         .where = "",
         .found = fmt::format("model.kind = \"{}\"", name_of(model.kind)),
         .needed = fmt::format("must be \"{}\" as model.preset = \"{}\" says",
                               name_of(preset->kind), model.preset),
         .hint = "leave model.kind out, or choose another preset"});
  }
  if (!model.init.empty()) {
    draft.report(draft.place_of({"model.preset"}),
                 {.code = "E028",
                  .where = "",
                  .found = fmt::format("model.preset = \"{}\"", model.preset),
                  .needed = "must not stand beside model.init",
                  .hint = "each gives the shape; remove one"});
  }
}

void check_heads(Draft& draft) {
  const ModelConfig& model = draft.config.model;
  if (!draft.are_sound({"model.hidden", "model.heads"})) return;
  if (!model.hidden || !model.heads) return;
  const int hidden = *model.hidden;
  const int heads = *model.heads;
  if (hidden % heads == 0) return;
  const int below = hidden / heads * heads;
  draft.report(
      draft.place_of({"model.hidden", "model.heads", "model.preset"}),
      {.code = "E021",
       .where = "",
       .found = fmt::format("model.hidden = {}", hidden),
       .needed = fmt::format("must be a multiple of model.heads = {}", heads),
       .hint = below == 0 ? fmt::format("use {}", heads)
                          : fmt::format("use {} or {}", below, below + heads)});
}

void check_kv_heads(Draft& draft) {
  const ModelConfig& model = draft.config.model;
  if (!draft.are_sound({"model.heads", "model.kv_heads"})) return;
  if (!model.heads || !model.kv_heads) return;
  if (*model.heads % *model.kv_heads == 0) return;
  draft.report(
      draft.place_of({"model.kv_heads", "model.heads", "model.preset"}),
      {.code = "E036",
       .where = "",
       .found = fmt::format("model.kv_heads = {}", *model.kv_heads),
       .needed = fmt::format("must divide model.heads = {}", *model.heads),
       .hint = "each key and value serves the same number of queries"});
}

// Rotary positions rotate pairs of numbers, so head_dim must be even.
void check_head_dim(Draft& draft) {
  const ModelConfig& model = draft.config.model;
  if (!draft.are_sound({"model.head_dim", "model.hidden", "model.heads"})) {
    return;
  }
  if (!model.head_dim || *model.head_dim % 2 == 0) return;
  draft.report(draft.place_of({"model.head_dim", "model.heads", "model.hidden",
                               "model.preset"}),
               {.code = "E037",
                .where = "",
                .found = fmt::format("model.head_dim = {}", *model.head_dim),
                .needed = "must be even, as rotary positions turn pairs",
                .hint = "it is hidden / heads unless given"});
}

void check_positions(Draft& draft) {
  const ModelConfig& model = draft.config.model;
  if (!draft.are_sound({"model.seq", "model.positions"})) return;
  if (!model.seq || !model.positions || *model.seq <= *model.positions) return;
  draft.report(draft.place_of({"model.seq", "model.positions", "model.preset"}),
               {.code = "E022",
                .where = "",
                .found = fmt::format("model.seq = {}", *model.seq),
                .needed = fmt::format("must be at most model.positions = {}",
                                      *model.positions),
                .hint = fmt::format("set model.positions = {}", *model.seq)});
}

void check_transformer(Draft& draft) {
  const ModelConfig& model = draft.config.model;
  check_preset(draft);
  check_heads(draft);
  check_kv_heads(draft);
  check_head_dim(draft);
  check_positions(draft);
  if (!draft.are_sound({"model.preset"}) || !model.init.empty()) return;
  if (!model.layers) draft.report_missing("model.layers");
  if (!model.hidden) draft.report_missing("model.hidden");
  if (!model.heads) draft.report_missing("model.heads");
  if (!model.vocab) draft.report_missing("model.vocab");
  if (!model.seq) draft.report_missing("model.seq");
}

// REQUIRES: `list` belongs to an emulated model. A single number fits any
// length.
void check_lengths(Draft& draft, std::string_view name,
                   const std::vector<double>& list) {
  const std::size_t needed = draft.config.emulated.forward_ms.size();
  if (!draft.are_sound({"model.forward_ms", name})) return;
  if (list.size() <= 1 || needed <= 1 || list.size() == needed) return;
  draft.report(
      draft.place_of({name}),
      {.code = "E030",
       .where = "",
       .found = fmt::format("length of {} = {}", name, list.size()),
       .needed = fmt::format("must be that of model.forward_ms, {}", needed),
       .hint = "give one number, or one per stage"});
}

void check_node(Draft& draft) {
  if (!draft.are_sound({"model.node_ranks"})) return;
  if (draft.config.emulated.node_ranks) return;
  for (const char* name : {"model.node_latency_ms", "model.node_gbps"}) {
    if (!draft.is_given(name)) continue;
    draft.report(draft.place_of({name}),
                 {.code = "E038",
                  .where = "",
                  .found = name,
                  .needed = "needs model.node_ranks",
                  .hint = "say how many ranks share a node"});
  }
}

void check_emulated(Draft& draft) {
  const EmulatedConfig& emulated = draft.config.emulated;
  if (emulated.forward_ms.empty()) draft.report_missing("model.forward_ms");
  if (emulated.input_grad_ms.empty()) {
    draft.report_missing("model.input_grad_ms");
  }
  if (emulated.weight_grad_ms.empty()) {
    draft.report_missing("model.weight_grad_ms");
  }
  check_lengths(draft, "model.input_grad_ms", emulated.input_grad_ms);
  check_lengths(draft, "model.weight_grad_ms", emulated.weight_grad_ms);
  check_node(draft);
}

}  // namespace

void check_model(Draft& draft) {
  if (!draft.kind_known) {
    if (draft.are_sound({"model.preset"})) draft.report_missing("model.kind");
    return;
  }
  check_uses(draft);
  if (draft.config.model.kind == ModelKind::kEmulated) {
    check_emulated(draft);
  } else {
    check_transformer(draft);
  }
}

}  // namespace chimera
