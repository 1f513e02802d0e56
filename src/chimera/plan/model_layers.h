// A transformer as the flat list of layers that is cut into stages. Each layer
// has the numbers on which costs depend: parameters and FLOPs. They agree with
// the layers of the model module, without needing torch.
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

// Two layers of equal shape take the same time. In blocks `vocab` is ignored,
// and `model` matters only for Llama: the blocks of GPT-2 and BERT compute the
// same.
struct LayerShape {
  LayerKind kind = LayerKind::kBlock;
  ModelKind model = ModelKind::kGpt2;
  int hidden = 0;
  int heads = 0;
  int ffn = 0;
  int seq = 0;
  int vocab = 0;
  // Only for Llama. 0 for others, which have `heads` of width hidden / heads.
  int kv_heads = 0;
  int head_dim = 0;
  Precision precision = Precision::kFloat32;

  bool operator==(const LayerShape&) const = default;
};

[[nodiscard]] bool same_work(const LayerShape& a, const LayerShape& b);

// FLOPs of one sample's forward. Only the dense part has a weight gradient.
struct LayerFlops {
  double dense = 0;
  double attention = 0;

  [[nodiscard]] double total() const { return dense + attention; }
};

[[nodiscard]] LayerFlops forward_flops(const LayerShape& shape);

struct ModelLayer {
  LayerShape shape;
  double parameters = 0;  // not shared
  // Parameters of the table that embeddings and head share if they are tied.
  double tied_parameters = 0;
};

// Number of layers: the blocks, the embeddings and the head.
[[nodiscard]] inline int num_layers(const ModelShape& model) {
  return model.layers + 2;
}

// The layers in order: embeddings, blocks, head. REQUIRES: not emulated.
[[nodiscard]] std::vector<ModelLayer> layers_of(
    const ModelShape& model, Precision precision = Precision::kFloat32);

// Bytes of the float32 tensor between two layers, for one sample.
[[nodiscard]] double boundary_bytes(const ModelShape& model,
                                    Precision precision);

// Bytes of one number of an activation.
[[nodiscard]] double number_bytes(Precision precision);

// Estimates, for one sample in float32, what a forward keeps and what a
// backward needs in addition. Fitted to the measured blocks of the built-in
// profiles (BERT, OPT, T5 in PyTorch, attention not fused), within 15 %.
[[nodiscard]] double estimated_activation_bytes(const LayerShape& shape);
[[nodiscard]] double estimated_workspace_bytes(const LayerShape& shape);

}  // namespace chimera
