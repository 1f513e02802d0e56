#include "chimera/config/fill.h"

#include "chimera/base/check.h"
#include "chimera/config/presets.h"

namespace chimera {
namespace {

template <class T>
void fill(std::optional<T>& value, const T& fallback) {
  if (!value) value = fallback;
}

void fill_from_preset(const ModelShape& preset, ModelConfig& model) {
  // ffn goes with hidden: who changes that gets the default ratio again.
  if (!model.hidden) fill(model.ffn, preset.ffn);
  fill(model.layers, preset.layers);
  fill(model.hidden, preset.hidden);
  fill(model.heads, preset.heads);
  fill(model.vocab, preset.vocab);
  fill(model.seq, preset.seq);
  fill(model.positions, preset.positions);
  fill(model.tie_embeddings, preset.tie_embeddings);
}

void fill_defaults(ModelConfig& model) {
  if (model.seq) fill(model.positions, *model.seq);
  if (model.hidden) fill(model.ffn, 4 * *model.hidden);
  fill(model.dropout, 0.0);
  fill(model.tie_embeddings, true);
}

}  // namespace

void fill_model(Draft& draft) {
  ModelConfig& model = draft.config.model;
  const auto preset = find_preset(model.preset);
  const bool has_kind =
      draft.is_given("model.kind") && draft.are_sound({"model.kind"});
  if (preset && !has_kind) model.kind = preset->kind;
  draft.kind_known = has_kind || preset;
  if (model.kind == ModelKind::kEmulated) return;
  if (preset) fill_from_preset(*preset, model);
  if (model.init.empty()) fill_defaults(model);
}

bool updates_wait_for_vote(const TrainConfig& train) {
  return train.clip > 0 || train.on_nan == OnNan::kSkip;
}

ModelShape shape_of(const ModelConfig& model) {
  const bool complete = model.layers && model.hidden && model.heads &&
                        model.vocab && model.seq && model.positions &&
                        model.ffn && model.tie_embeddings;
  CHIMERA_CHECK(complete, "the model's shape is not resolved");
  return {.kind = model.kind,
          .layers = *model.layers,
          .hidden = *model.hidden,
          .heads = *model.heads,
          .vocab = *model.vocab,
          .seq = *model.seq,
          .positions = *model.positions,
          .ffn = *model.ffn,
          .tie_embeddings = *model.tie_embeddings};
}

}  // namespace chimera
