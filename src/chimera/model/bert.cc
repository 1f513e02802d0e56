// BERT (Devlin et al. 2018) as Hugging Face's BertForPreTraining computes it:
// norms after each half of a block, gelu by erf, torch.nn.Linear weights
// (out, in), and two losses: masked tokens and next sentence.
#include <ATen/ATen.h>

#include "chimera/model/attention.h"
#include "chimera/model/parameter_list.h"
#include "chimera/model/transformer_layer.h"
#include "chimera/model/transformers.h"

namespace chimera {
namespace {

constexpr const char* kWordTable = "bert.embeddings.word_embeddings";

class BertEmbeddings : public TransformerLayer {
 public:
  explicit BertEmbeddings(const ModelDetails& details)
      : TransformerLayer("embeddings", list(details), details) {}

  at::Tensor forward(const at::Tensor& /*x*/, Weights weights,
                     const LayerContext& context) const override {
    const at::Tensor words = split_embedding(
        context.batch.inputs, {weights[kWords], details().padding_id},
        context.deferred);  // (B, T, C)
    const at::Tensor types = split_embedding(
        context.batch.token_types, {weights[kTypes]}, context.deferred);
    const at::Tensor sum =
        words + types + positions(weights[kPositions], context);
    return drop_embedding(norm(sum, weights.subspan(kNorm)), context);
  }

  double forward_flops() const override {
    return 3.0 * shape().seq * shape().hidden;
  }

 private:
  enum Place { kWords, kPositions, kTypes, kNorm };

  static std::vector<ParameterSpec> list(const ModelDetails& details) {
    const ModelShape& shape = details.shape;
    return ParameterList()
        .embedding(kWordTable, shape.vocab, shape.hidden, shape.tie_embeddings)
        .embedding("bert.embeddings.position_embeddings", shape.positions,
                   shape.hidden)
        .embedding("bert.embeddings.token_type_embeddings", details.type_vocab,
                   shape.hidden)
        .norm("bert.embeddings.LayerNorm", shape.hidden)
        .take();
  }
};

class BertBlock : public TransformerLayer {
 public:
  BertBlock(const ModelDetails& details, int index)
      : TransformerLayer("h." + std::to_string(index),
                         list(details.shape, index), details) {}

  at::Tensor forward(const at::Tensor& x, Weights weights,
                     const LayerContext& context) const override {
    const at::Tensor mixed = norm(x + attend(x, weights, context),
                                  weights.subspan(kNorm1));  // (B, T, C)
    const at::Tensor wide =
        linear(mixed, weights.subspan(kUp), context);  // (B, T, ffn)
    const at::Tensor narrow =
        linear(at::gelu(wide), weights.subspan(kDown), context);
    return norm(mixed + drop(narrow, kDownSite, context),
                weights.subspan(kNorm2));
  }

  double forward_flops() const override { return block_flops(); }

 private:
  // Index of each weight in the parameter list. Its bias is at the next index.
  enum Pair {
    kQuery = 0,
    kKey = 2,
    kValue = 4,
    kOut = 6,
    kNorm1 = 8,
    kUp = 10,
    kDown = 12,
    kNorm2 = 14
  };
  enum Site { kAttentionSite, kOutSite, kDownSite };

  at::Tensor attend(const at::Tensor& x, Weights weights,
                    const LayerContext& context) const {
    const at::Tensor mixed = attention(
        {linear(x, weights.subspan(kQuery), context),
         linear(x, weights.subspan(kKey), context),
         linear(x, weights.subspan(kValue), context)},
        shape().heads,
        {.dropout = {details().dropout.attention, kAttentionSite}}, context);
    return drop(linear(mixed, weights.subspan(kOut), context), kOutSite,
                context);
  }

  static std::vector<ParameterSpec> list(const ModelShape& shape, int index) {
    const std::string name = "bert.encoder.layer." + std::to_string(index);
    const std::int64_t hidden = shape.hidden, ffn = shape.ffn;
    return ParameterList()
        .linear(name + ".attention.self.query", {hidden, hidden})
        .linear(name + ".attention.self.key", {hidden, hidden})
        .linear(name + ".attention.self.value", {hidden, hidden})
        .linear(name + ".attention.output.dense", {hidden, hidden})
        .norm(name + ".attention.output.LayerNorm", hidden)
        .linear(name + ".intermediate.dense", {hidden, ffn})
        .linear(name + ".output.dense", {ffn, hidden})
        .norm(name + ".output.LayerNorm", hidden)
        .take();
  }
};

class BertHead : public TransformerLayer {
 public:
  explicit BertHead(const ModelDetails& details)
      : TransformerLayer("head", list(details.shape), details) {}

  at::Tensor forward(const at::Tensor& x, Weights weights,
                     const LayerContext& context) const override {
    return masked_token_loss(x, weights, context) +
           next_sentence_loss(x, weights, context);
  }

  double forward_flops() const override {
    const double hidden = shape().hidden;
    return 2 * kMaskedShare * shape().seq * hidden * (hidden + shape().vocab) +
           2 * hidden * (hidden + 2);
  }

 private:
  enum Place {
    kPooler = 0,
    kTransform = 2,
    kNorm = 4,
    kDecoder = 6,  // weight, then bias
    kNext = 8
  };
  static constexpr double kMaskedShare = 0.15;

  // Computes logits only at positions with a target, because a row of logits is
  // as long as the vocabulary. The host finds the positions: a device would
  // make it wait for their number.
  at::Tensor masked_token_loss(const at::Tensor& x, Weights weights,
                               const LayerContext& context) const {
    const at::Tensor targets = context.batch.targets.reshape({-1});
    const at::Tensor places = to_device(context.batch.host_targets.reshape({-1})
                                            .ne(kIgnoredTarget)
                                            .nonzero()
                                            .squeeze(1),
                                        targets.device());  // (M)
    const at::Tensor chosen =
        x.reshape({-1, shape().hidden}).index_select(0, places);  // (M, C)
    const at::Tensor transformed =
        norm(at::gelu(linear(chosen, weights.subspan(kTransform), context)),
             weights.subspan(kNorm));
    const at::Tensor logits =
        linear(transformed, weights.subspan(kDecoder), context);  // (M, V)
    return cross_entropy(logits, targets.index_select(0, places),
                         context.batch.total.tokens);
  }

  at::Tensor next_sentence_loss(const at::Tensor& x, Weights weights,
                                const LayerContext& context) const {
    const at::Tensor pooled = at::tanh(
        linear(x.select(1, 0), weights.subspan(kPooler), context));  // (B, C)
    const at::Tensor logits =
        linear(pooled, weights.subspan(kNext), context);  // (B, 2)
    return cross_entropy(logits, context.batch.next_sentence,
                         context.batch.total.samples);
  }

  static std::vector<ParameterSpec> list(const ModelShape& shape) {
    const std::int64_t hidden = shape.hidden;
    ParameterList list;
    list.linear("bert.pooler.dense", {hidden, hidden})
        .linear("cls.predictions.transform.dense", {hidden, hidden})
        .norm("cls.predictions.transform.LayerNorm", hidden);
    if (shape.tie_embeddings) {
      list.embedding(kWordTable, shape.vocab, hidden, true);
    } else {
      list.matrix("cls.predictions.decoder", {hidden, shape.vocab});
    }
    list.bias("cls.predictions.bias", shape.vocab)
        .linear("cls.seq_relationship", {hidden, 2});
    return list.take();
  }
};

}  // namespace

std::vector<std::unique_ptr<Layer>> bert_layers(const ModelDetails& details) {
  std::vector<std::unique_ptr<Layer>> layers;
  layers.push_back(std::make_unique<BertEmbeddings>(details));
  for (int index = 0; index < details.shape.layers; ++index) {
    layers.push_back(std::make_unique<BertBlock>(details, index));
  }
  layers.push_back(std::make_unique<BertHead>(details));
  return layers;
}

}  // namespace chimera
