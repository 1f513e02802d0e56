// GPT-2 (Radford et al. 2019) as Hugging Face's GPT2LMHeadModel computes it:
// norms before each half of a block, gelu by tanh, Conv1D weights (in, out).
#include <ATen/ATen.h>

#include <cmath>

#include "chimera/model/attention.h"
#include "chimera/model/parameter_list.h"
#include "chimera/model/transformer_layer.h"
#include "chimera/model/transformers.h"

namespace chimera {
namespace {

constexpr const char* kTokenTable = "transformer.wte";

class Gpt2Embeddings : public TransformerLayer {
 public:
  explicit Gpt2Embeddings(const ModelDetails& details)
      : TransformerLayer("embeddings", list(details.shape), details) {}

  at::Tensor forward(const at::Tensor& /*x*/, Weights weights,
                     const LayerContext& context) const override {
    const at::Tensor tokens = split_embedding(
        context.batch.inputs, {weights[0]}, context.deferred);  // (B, T, C)
    return drop_embedding(tokens + positions(weights[1], context), context);
  }

  double forward_flops() const override {
    return 2.0 * shape().seq * shape().hidden;
  }

 private:
  static std::vector<ParameterSpec> list(const ModelShape& shape) {
    return ParameterList()
        .embedding(kTokenTable, shape.vocab, shape.hidden, shape.tie_embeddings)
        .embedding("transformer.wpe", shape.positions, shape.hidden)
        .take();
  }
};

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
        linear(at::gelu(wide, "tanh"), weights.subspan(kDown), context);
    return mixed + drop(narrow, kDownSite, context);
  }

  double forward_flops() const override { return block_flops(); }

 private:
  // Where each pair of weight and bias stands in the list.
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
    // What is added to the residual stream 2 L times starts smaller.
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

class Gpt2Head : public TransformerLayer {
 public:
  explicit Gpt2Head(const ModelDetails& details)
      : TransformerLayer("head", list(details.shape), details) {}

  at::Tensor forward(const at::Tensor& x, Weights weights,
                     const LayerContext& context) const override {
    const at::Tensor logits =
        split_linear(norm(counted(x, context), weights), {weights[2], {}},
                     context.deferred);  // (B, T, V)
    return loss_or_logits(logits, context);
  }

  double forward_flops() const override {
    return 2.0 * shape().seq * shape().hidden * shape().vocab;
  }

 private:
  static std::vector<ParameterSpec> list(const ModelShape& shape) {
    ParameterList list;
    list.norm("transformer.ln_f", shape.hidden);
    if (shape.tie_embeddings) {
      list.embedding(kTokenTable, shape.vocab, shape.hidden, true);
    } else {
      list.matrix("lm_head", {shape.hidden, shape.vocab});
    }
    return list.take();
  }
};

}  // namespace

std::vector<std::unique_ptr<Layer>> gpt2_layers(const ModelDetails& details) {
  std::vector<std::unique_ptr<Layer>> layers;
  layers.push_back(std::make_unique<Gpt2Embeddings>(details));
  for (int index = 0; index < details.shape.layers; ++index) {
    layers.push_back(std::make_unique<Gpt2Block>(details, index));
  }
  layers.push_back(std::make_unique<Gpt2Head>(details));
  return layers;
}

}  // namespace chimera
