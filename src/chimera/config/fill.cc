#include "chimera/config/fill.h"

#include <map>
#include <string>

#include "chimera/base/check.h"
#include "chimera/base/files.h"
#include "chimera/base/json_reader.h"
#include "chimera/config/presets.h"

namespace chimera {
namespace {

template <class T>
void fill(std::optional<T>& value, const T& fallback) {
  if (!value) value = fallback;
}

void fill_from_preset(const ModelShape& preset, ModelConfig& model) {
  // The preset's values of these keys depend on hidden and heads. If the user
  // changes those, the defaults apply again.
  const bool new_hidden = model.hidden.has_value();
  const bool new_heads = model.heads.has_value();
  if (!new_hidden) fill(model.ffn, preset.ffn);
  fill(model.layers, preset.layers);
  fill(model.hidden, preset.hidden);
  fill(model.heads, preset.heads);
  fill(model.vocab, preset.vocab);
  fill(model.seq, preset.seq);
  fill(model.positions, preset.positions);
  fill(model.tie_embeddings, preset.tie_embeddings);
  if (preset.kind != ModelKind::kLlama || model.kind != preset.kind) return;
  fill(model.variant, preset.llama.variant);
  fill(model.rope_theta, preset.llama.rope.theta);
  if (!new_heads) fill(model.kv_heads, preset.llama.kv_heads);
  if (!new_heads && !new_hidden) fill(model.head_dim, preset.llama.head_dim);
}

void fill_defaults(ModelConfig& model) {
  if (model.seq) fill(model.positions, *model.seq);
  if (model.hidden) fill(model.ffn, 4 * *model.hidden);
  fill(model.dropout, 0.0);
  fill(model.tie_embeddings, true);
  if (model.kind != ModelKind::kLlama) return;
  fill(model.variant, LlamaVariant::kLlama);
  if (model.heads) fill(model.kv_heads, *model.heads);
  if (model.hidden && model.heads && *model.hidden % *model.heads == 0) {
    fill(model.head_dim, *model.hidden / *model.heads);
  }
  fill(model.rope_theta, Rope{}.theta);
  fill(model.norm_eps, 1e-5);
}

// The kind of the model in a Hugging Face directory, by its model_type; nullopt
// if the directory does not tell. Whoever opens it says what is wrong with it.
std::optional<ModelKind> kind_in(const std::string& directory) {
  static const std::map<std::string, ModelKind> kKinds = {
      {"gpt2", ModelKind::kGpt2},   {"bert", ModelKind::kBert},
      {"llama", ModelKind::kLlama}, {"mistral", ModelKind::kLlama},
      {"qwen2", ModelKind::kLlama}, {"qwen3", ModelKind::kLlama}};
  const std::string path = directory + "/config.json";
  const Result<std::string> text = read_file(path);
  if (!text) return std::nullopt;
  std::optional<ModelKind> kind;
  Diagnostics ignored;
  JsonReader reader(*text, path, ignored);
  reader.object("config.json", [&](const std::string& key) {
    if (key != "model_type") return reader.skip();
    const auto found = kKinds.find(reader.string(key).value_or(""));
    if (found != kKinds.end()) kind = found->second;
  });
  return kind;
}

}  // namespace

void fill_model(Draft& draft) {
  ModelConfig& model = draft.config.model;
  const auto preset = find_preset(model.preset);
  draft.kind_known =
      draft.is_given("model.kind") && draft.are_sound({"model.kind"});
  if (!draft.kind_known && (preset || !model.init.empty())) {
    const std::optional<ModelKind> kind =
        preset ? preset->kind : kind_in(model.init);
    model.kind = kind.value_or(model.kind);
    draft.kind_known = kind.has_value();
  }
  if (model.kind == ModelKind::kEmulated) return;
  if (preset) fill_from_preset(*preset, model);
  if (model.init.empty()) fill_defaults(model);
}

bool updates_need_vote(const TrainConfig& train) {
  return train.clip > 0 || train.on_nan == OnNan::kSkip;
}

bool has_shape(const ModelConfig& model) {
  const bool is_llama = model.kind == ModelKind::kLlama;
  return model.kind != ModelKind::kEmulated && model.layers && model.hidden &&
         model.heads && model.vocab && model.seq && model.positions &&
         model.ffn && model.tie_embeddings &&
         (!is_llama || (model.variant && model.kv_heads && model.head_dim &&
                        model.rope_theta && model.norm_eps));
}

ModelShape shape_of(const ModelConfig& model) {
  CHIMERA_CHECK(has_shape(model), "the model's shape is not resolved");
  LlamaShape llama;
  if (model.kind == ModelKind::kLlama) {
    llama = {.variant = *model.variant,
             .kv_heads = *model.kv_heads,
             .head_dim = *model.head_dim,
             .rope = {.theta = *model.rope_theta}};
  }
  return {.kind = model.kind,
          .layers = *model.layers,
          .hidden = *model.hidden,
          .heads = *model.heads,
          .vocab = *model.vocab,
          .seq = *model.seq,
          .positions = *model.positions,
          .ffn = *model.ffn,
          .tie_embeddings = *model.tie_embeddings,
          .llama = llama};
}

}  // namespace chimera
