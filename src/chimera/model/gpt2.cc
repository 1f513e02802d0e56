// GPT-2 (Radford et al. 2019) as Hugging Face's GPT2LMHeadModel computes it:
// norms before each half of a block, gelu by tanh, Conv1D weights (in, out).
#include <ATen/ATen.h>

#include <cmath>

#include "chimera/model/attention.h"
#include "chimera/model/causal_ends.h"
#include "chimera/model/gelu.h"
#include "chimera/model/parameter_list.h"
#include "chimera/model/transformer_layer.h"
#include "chimera/model/transformers.h"

namespace chimera {
namespace {

class Gpt2Block : public TransformerLayer {
 public:
  Gpt2Block(const ModelDetails& details, int index)
      : TransformerLayer("h." + std::to_string(index),
                         list(details.shape, index), details) {}

  at::Tensor forward(const at::Tensor& x, Weights weights,
                     const LayerContext& context) const override {
    const at::Tensor mixed = x + attend(x, weights, context);  // (B, T, C)
    const at::Tensor wide =
        linear(norm(mixed, weights.subspan(kNorm2)), weights.subspan(kUp),
               context);  // (B, T, ffn)
    const at::Tensor narrow =
        linear(gelu_by_tanh(wide), weights.subspan(kDown), context);
    return mixed + drop(narrow, kDownSite, context);
  }

  double forward_flops() const override { return block_flops(); }

 private:
  // Index of each weight in the parameter list. Its bias is at the next index.
  enum Pair { kNorm1 = 0, kQkv = 2, kOut = 4, kNorm2 = 6, kUp = 8, kDown = 10 };
  enum Site { kAttentionSite, kOutSite, kDownSite };

  at::Tensor attend(const at::Tensor& x, Weights weights,
                    const LayerContext& context) const {
    const std::vector<at::Tensor> qkv =
        linear(norm(x, weights.subspan(kNorm1)), weights.subspan(kQkv), context)
            .chunk(3, -1);  // 3 x (B, T, C)
    const at::Tensor mixed =
        attention({qkv[0], qkv[1], qkv[2]}, shape().heads,
                  {.causal = true,
                   .dropout = {details().dropout.attention, kAttentionSite}},
                  context);
    return drop(linear(mixed, weights.subspan(kOut), context), kOutSite,
                context);
  }

  static std::vector<ParameterSpec> list(const ModelShape& shape, int index) {
    const std::string name = "transformer.h." + std::to_string(index);
    const std::int64_t hidden = shape.hidden, ffn = shape.ffn;
    // The 2 L projections that add to the residual stream start with smaller
    // weights.
    const double residual_std =
        ParameterList::kStd / std::sqrt(2.0 * shape.layers);
    constexpr WeightLayout kLayout = WeightLayout::kInOut;
    return ParameterList()
        .norm(name + ".ln_1", hidden)
        .linear(name + ".attn.c_attn", {hidden, 3 * hidden, kLayout})
        .linear(name + ".attn.c_proj", {hidden, hidden, kLayout}, residual_std)
        .norm(name + ".ln_2", hidden)
        .linear(name + ".mlp.c_fc", {hidden, ffn, kLayout})
        .linear(name + ".mlp.c_proj", {ffn, hidden, kLayout}, residual_std)
        .take();
  }
};

}  // namespace

std::vector<std::unique_ptr<Layer>> gpt2_layers(const ModelDetails& details) {
  const CausalNames names = {.tokens = "transformer.wte",
                             .positions = "transformer.wpe",
                             .last_norm = "transformer.ln_f"};
  std::vector<std::unique_ptr<Layer>> layers;
  layers.push_back(make_causal_embeddings(details, names));
  for (int index = 0; index < details.shape.layers; ++index) {
    layers.push_back(std::make_unique<Gpt2Block>(details, index));
  }
  layers.push_back(make_causal_head(details, names));
  return layers;
}

}  // namespace chimera
