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
    .variant = {},
    .model_type = "gpt2",
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
    .tie_embeddings = true,
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
    .variant = {},
    .model_type = "bert",
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
    .tie_embeddings = true,
    .reals = kBertReals,
    .fixed = kBertFixed};

constexpr auto kLlamaReals = std::to_array<HfRealKey>(
    {{"rms_norm_eps", &HfShape::layer_norm_epsilon},
     {"attention_dropout", &HfShape::attention_dropout}});

constexpr auto kLlamaFixed =
    std::to_array<HfFixedKey>({{"attention_bias", false}, {"mlp_bias", false}});
constexpr auto kQwen2Fixed =
    std::to_array<HfFixedKey>({{"use_sliding_window", false}});
constexpr auto kQwen3Fixed = std::to_array<HfFixedKey>(
    {{"attention_bias", false}, {"use_sliding_window", false}});

// Makes the table of a member of the Llama family. Its config.json has the same
// keys for sizes as BERT's.
constexpr HfFamily llama(LlamaVariant variant, std::string_view architecture,
                         std::span<const HfFixedKey> fixed) {
  HfFamily family = kBert;
  family.kind = ModelKind::kLlama;
  family.variant = variant;
  family.model_type = name_of(variant);
  family.architecture = architecture;
  family.prefix = "model.";
  family.activation = "silu";
  family.layer_norm_epsilon = 1e-6;
  family.tie_embeddings = false;
  family.reals = kLlamaReals;
  family.fixed = fixed;
  return family;
}

constexpr HfFamily kLlama =
    llama(LlamaVariant::kLlama, "LlamaForCausalLM", kLlamaFixed);
constexpr HfFamily kMistral =
    llama(LlamaVariant::kMistral, "MistralForCausalLM", {});
constexpr HfFamily kQwen2 =
    llama(LlamaVariant::kQwen2, "Qwen2ForCausalLM", kQwen2Fixed);
constexpr HfFamily kQwen3 =
    llama(LlamaVariant::kQwen3, "Qwen3ForCausalLM", kQwen3Fixed);

constexpr auto kFamilies = std::to_array<const HfFamily*>(
    {&kGpt2, &kBert, &kLlama, &kMistral, &kQwen2, &kQwen3});

}  // namespace

std::span<const HfFamily* const> hf_families() { return kFamilies; }

const HfFamily& hf_family(const ModelShape& model) {
  CHIMERA_CHECK(model.kind != ModelKind::kEmulated,
                "emulated models have no files");
  const HfFamily* found = &kGpt2;
  for (const HfFamily* family : kFamilies) {
    const bool fits = family->kind != ModelKind::kLlama ||
                      family->variant == model.llama.variant;
    if (family->kind == model.kind && fits) found = family;
  }
  return *found;
}

}  // namespace chimera
