// A transformer as the flat list of layers that is cut into stages, each with
// what costs depend on: parameters and FLOPs. Counts agree with the layers that
// the model module builds, without needing torch.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "chimera/config/run_config.h"

namespace chimera {

enum class LayerKind { kEmbedding, kBlock, kHead };
inline constexpr auto kLayerKindNames =
    std::to_array<std::string_view>({"embedding", "block", "head"});
constexpr Names names_of(LayerKind) { return kLayerKindNames; }

// What two layers must have in common to take the same time. `vocab` says
// nothing about a block, and `model` only whether it is a Llama's: the blocks
// of GPT-2 and BERT compute the same.
struct LayerShape {
  LayerKind kind = LayerKind::kBlock;
  ModelKind model = ModelKind::kGpt2;
  int hidden = 0;
  int heads = 0;
  int ffn = 0;
  int seq = 0;
  int vocab = 0;
  // Llama only; 0 in others, where they are heads and hidden / heads.
  int kv_heads = 0;
  int head_dim = 0;

  bool operator==(const LayerShape&) const = default;
};

[[nodiscard]] bool same_work(const LayerShape& a, const LayerShape& b);

// Of one sample's forward. A weight gradient exists for the dense part alone.
struct LayerFlops {
  double dense = 0;
  double attention = 0;

  [[nodiscard]] double total() const { return dense + attention; }
};

[[nodiscard]] LayerFlops forward_flops(const LayerShape& shape);

struct ModelLayer {
  LayerShape shape;
  double parameters = 0;  // its own
  // Of the table that embeddings and head share, where they are tied.
  double tied_parameters = 0;
};

// The blocks of a transformer, its embeddings and its head.
[[nodiscard]] inline int num_layers(const ModelShape& model) {
  return model.layers + 2;
}

// Embeddings, blocks, head.
// REQUIRES: not emulated.
[[nodiscard]] std::vector<ModelLayer> layers_of(const ModelShape& model);

// float32, of the tensor between two layers, for one sample.
[[nodiscard]] double boundary_bytes(const ModelShape& model);

// What a forward of one sample keeps, float32, and what a backward needs
// besides: fitted to the measured blocks of the built-in profiles (BERT, OPT,
// T5 in PyTorch, attention not fused), within 15 %.
[[nodiscard]] double estimated_activation_bytes(const LayerShape& shape);
[[nodiscard]] double estimated_workspace_bytes(const LayerShape& shape);

}  // namespace chimera
