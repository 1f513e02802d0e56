#include "chimera/files/hf_family.h"

namespace chimera {
namespace {

constexpr auto kGpt2Reals = std::to_array<HfRealKey>(
    {{"layer_norm_epsilon", &HfShape::layer_norm_epsilon},
     {"embd_pdrop", &HfShape::embedding_dropout},
     {"resid_pdrop", &HfShape::hidden_dropout},
     {"attn_pdrop", &HfShape::attention_dropout}});

constexpr auto kGpt2Fixed =
    std::to_array<HfFixedKey>({{"scale_attn_weights", true},
                               {"scale_attn_by_inverse_layer_idx", false},
                               {"reorder_and_upcast_attn", false},
                               {"add_cross_attention", false}});

constexpr HfFamily kGpt2 = {
    .kind = ModelKind::kGpt2,
    .architecture = "GPT2LMHeadModel",
    .prefix = "transformer.",
    .sizes = {{{"n_layer", &ModelShape::layers, kMostHfCount},
               {"n_embd", &ModelShape::hidden, kMostHfCount},
               {"n_head", &ModelShape::heads, kMostHfCount},
               {"vocab_size", &ModelShape::vocab, kMostHfSize},
               {"n_positions", &ModelShape::positions, kMostHfSize}}},
    .ffn = "n_inner",
    .activation_key = "activation_function",
    .activation = "gelu_new",
    .layer_norm_epsilon = 1e-5,
    .reals = kGpt2Reals,
    .fixed = kGpt2Fixed};

constexpr auto kBertReals = std::to_array<HfRealKey>(
    {{"layer_norm_eps", &HfShape::layer_norm_epsilon},
     {"hidden_dropout_prob", &HfShape::hidden_dropout},
     {"attention_probs_dropout_prob", &HfShape::attention_dropout}});

constexpr auto kBertFixed = std::to_array<HfFixedKey>(
    {{"is_decoder", false}, {"add_cross_attention", false}});

constexpr HfFamily kBert = {
    .kind = ModelKind::kBert,
    .architecture = "BertForPreTraining",
    .prefix = "bert.",
    .sizes = {{{"num_hidden_layers", &ModelShape::layers, kMostHfCount},
               {"hidden_size", &ModelShape::hidden, kMostHfCount},
               {"num_attention_heads", &ModelShape::heads, kMostHfCount},
               {"vocab_size", &ModelShape::vocab, kMostHfSize},
               {"max_position_embeddings", &ModelShape::positions,
                kMostHfSize}}},
    .ffn = "intermediate_size",
    .activation_key = "hidden_act",
    .activation = "gelu",
    .layer_norm_epsilon = 1e-12,
    .reals = kBertReals,
    .fixed = kBertFixed};

}  // namespace

const HfFamily& hf_family(ModelKind kind) {
  CHIMERA_CHECK(kind != ModelKind::kEmulated, "emulated models have no files");
  return kind == ModelKind::kGpt2 ? kGpt2 : kBert;
}

}  // namespace chimera
