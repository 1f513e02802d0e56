// The Llama family (Touvron et al. 2023) as Hugging Face's LlamaForCausalLM
// computes it: root mean square norms before each half of a block, rotary
// positions, queries that share keys and values, SwiGLU, no biases. Qwen2 adds
// biases to queries, keys and values; Qwen3 normalises queries and keys.
#include <ATen/ATen.h>

#include "chimera/model/attention.h"
#include "chimera/model/causal_ends.h"
#include "chimera/model/parameter_list.h"
#include "chimera/model/rms_norm.h"
#include "chimera/model/rotary.h"
#include "chimera/model/transformer_layer.h"
#include "chimera/model/transformers.h"

namespace chimera {
namespace {

// Index of each weight of a block in the parameter list. A bias follows its
// weight.
struct Places {
  explicit Places(const LlamaShape& shape)
      : key(query + (shape.has_qkv_bias() ? 2 : 1)),
        value(2 * key - query),
        out(3 * key - 2 * query),
        query_norm(out + 1),
        key_norm(out + 2),
        norm2(shape.has_qk_norm() ? out + 3 : out + 1),
        gate(norm2 + 1),
        up(norm2 + 2),
        down(norm2 + 3) {}

  int norm1 = 0, query = 1;
  int key, value, out, query_norm, key_norm, norm2, gate, up, down;
};

class LlamaBlock : public TransformerLayer {
 public:
  LlamaBlock(const ModelDetails& details, int index,
             std::shared_ptr<const RotaryTable> rotary)
      : TransformerLayer("h." + std::to_string(index),
                         list(details.shape, index), details),
        places_(details.shape.llama),
        rotary_(std::move(rotary)) {}

  at::Tensor forward(const at::Tensor& x, Weights weights,
                     const LayerContext& context) const override {
    const at::Tensor mixed = x + attend(x, weights, context);  // (B, T, C)
    const at::Tensor normal = normed(mixed, weights[places_.norm2]);
    const at::Tensor gate = matrix(normal, weights[places_.gate], context);
    const at::Tensor up = matrix(normal, weights[places_.up], context);
    return mixed + matrix(at::silu(gate) * up, weights[places_.down], context);
  }

  double forward_flops() const override {
    const LlamaShape& llama = shape().llama;
    const double tokens = shape().seq, hidden = shape().hidden;
    const double queries = 1.0 * shape().heads * llama.head_dim;
    const double keys = 1.0 * llama.kv_heads * llama.head_dim;
    return 2 * tokens * hidden * (2 * queries + 2 * keys + 3.0 * shape().ffn) +
           4 * tokens * tokens * queries;
  }

 private:
  enum Site { kAttentionSite };

  [[nodiscard]] at::Tensor normed(const at::Tensor& x,
                                  const at::Tensor& weight) const {
    return rms_norm(x, weight, details().norm_eps);
  }
  [[nodiscard]] static at::Tensor matrix(const at::Tensor& x,
                                         const at::Tensor& weight,
                                         const LayerContext& context) {
    return split_linear(x, {weight, {}}, context.deferred);
  }

  // (B, heads, T, head_dim): the projection at `place`.
  [[nodiscard]] at::Tensor heads_of(const at::Tensor& x, Weights weights,
                                    int place,
                                    const LayerContext& context) const {
    const at::Tensor y = shape().llama.has_qkv_bias()
                             ? linear(x, weights.subspan(place), context)
                             : matrix(x, weights[place], context);
    return y.view({y.size(0), y.size(1), -1, shape().llama.head_dim})
        .transpose(1, 2);
  }

  [[nodiscard]] RotaryTable table_for(const LayerContext& context) const {
    if (context.tables == nullptr) return *rotary_;
    return {context.tables->get(rotary_->cos),
            context.tables->get(rotary_->sin)};
  }

  [[nodiscard]] at::Tensor attend(const at::Tensor& x, Weights weights,
                                  const LayerContext& context) const {
    const at::Tensor normal = normed(x, weights[places_.norm1]);
    Projections by_head = {heads_of(normal, weights, places_.query, context),
                           heads_of(normal, weights, places_.key, context),
                           heads_of(normal, weights, places_.value, context)};
    if (shape().llama.has_qk_norm()) {
      by_head.query = normed(by_head.query, weights[places_.query_norm]);
      by_head.key = normed(by_head.key, weights[places_.key_norm]);
    }
    const at::Tensor& given = context.batch.positions;
    const RotaryTable table = table_for(context);
    const RotaryTable rows = given.defined() ? rows_at(table, given) : table;
    const std::int64_t first = first_position(context);
    by_head.query = rotate(by_head.query, rows, first);
    by_head.key = rotate(by_head.key, rows, first);
    const at::Tensor mixed = attention_by_head(
        by_head,
        {.causal = true,
         .dropout = {details().dropout.attention, kAttentionSite}},
        context);
    return matrix(mixed, weights[places_.out], context);
  }

  static std::vector<ParameterSpec> list(const ModelShape& shape, int index) {
    const LlamaShape& llama = shape.llama;
    const std::string name = "model.layers." + std::to_string(index);
    const std::string self = name + ".self_attn.";
    const std::int64_t hidden = shape.hidden, ffn = shape.ffn;
    const std::int64_t queries = std::int64_t{shape.heads} * llama.head_dim;
    const std::int64_t keys = std::int64_t{llama.kv_heads} * llama.head_dim;
    ParameterList list;
    const auto norm = [&](const std::string& norm_name, std::int64_t width) {
      list.vector(norm_name + ".weight", width, Init::kOnes);
    };
    const auto project = [&](const std::string& part, std::int64_t width) {
      list.matrix(self + part, {hidden, width});
      if (!llama.has_qkv_bias()) return;
      list.bias(self + part + ".bias", width);
    };
    norm(name + ".input_layernorm", hidden);
    project("q_proj", queries);
    project("k_proj", keys);
    project("v_proj", keys);
    list.matrix(self + "o_proj", {queries, hidden});
    if (llama.has_qk_norm()) {
      norm(self + "q_norm", llama.head_dim);
      norm(self + "k_norm", llama.head_dim);
    }
    norm(name + ".post_attention_layernorm", hidden);
    list.matrix(name + ".mlp.gate_proj", {hidden, ffn})
        .matrix(name + ".mlp.up_proj", {hidden, ffn})
        .matrix(name + ".mlp.down_proj", {ffn, hidden});
    return list.take();
  }

  Places places_;
  std::shared_ptr<const RotaryTable> rotary_;
};

}  // namespace

std::vector<std::unique_ptr<Layer>> llama_layers(const ModelDetails& details) {
  const auto rotary = std::make_shared<const RotaryTable>(
      make_rotary_table(details.shape.llama, details.shape.seq));
  const CausalNames names = {.tokens = "model.embed_tokens",
                             .last_norm = "model.norm"};
  std::vector<std::unique_ptr<Layer>> layers;
  layers.push_back(make_causal_embeddings(details, names));
  for (int index = 0; index < details.shape.layers; ++index) {
    layers.push_back(std::make_unique<LlamaBlock>(details, index, rotary));
  }
  layers.push_back(make_causal_head(details, names));
  return layers;
}

}  // namespace chimera
