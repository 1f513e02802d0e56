// The base class of the layers of all transformers.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "chimera/model/cross_entropy.h"
#include "chimera/model/dropout.h"
#include "chimera/model/model.h"
#include "chimera/model/split_backward.h"

namespace chimera {

class TransformerLayer : public Layer {
 public:
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] const std::vector<ParameterSpec>& parameters() const override {
    return parameters_;
  }

 protected:
  using Weights = std::span<const at::Tensor>;

  TransformerLayer(std::string name, std::vector<ParameterSpec> parameters,
                   const ModelDetails& details)
      : name_(std::move(name)),
        parameters_(std::move(parameters)),
        details_(details) {}

  [[nodiscard]] const ModelDetails& details() const { return details_; }
  [[nodiscard]] const ModelShape& shape() const { return details_.shape; }
  [[nodiscard]] WeightLayout layout() const {
    return shape().kind == ModelKind::kGpt2 ? WeightLayout::kInOut
                                            : WeightLayout::kOutIn;
  }

  // Applies a linear layer. REQUIRES: `pair` holds its weight and bias, in that
  // order.
  [[nodiscard]] at::Tensor linear(const at::Tensor& x, Weights pair,
                                  const LayerContext& context) const {
    return split_linear(x, {pair[0], pair[1], layout()}, context.deferred);
  }
  [[nodiscard]] at::Tensor norm(const at::Tensor& x, Weights pair) const {
    return at::layer_norm(x, {shape().hidden}, pair[0], pair[1],
                          details_.norm_eps);
  }
  [[nodiscard]] at::Tensor drop(const at::Tensor& x, int site,
                                const LayerContext& context) const {
    return dropout(x, {.rate = details_.dropout.hidden, .site = site}, context);
  }
  [[nodiscard]] at::Tensor drop_embedding(const at::Tensor& x,
                                          const LayerContext& context) const {
    return dropout(x, {.rate = details_.dropout.embedding}, context);
  }

  // The position of the first token: 0, or in generation the number of cached
  // tokens.
  [[nodiscard]] static std::int64_t first_position(
      const LayerContext& context) {
    return context.cache == nullptr ? 0 : context.cache->length();
  }

  // Looks up the embeddings of the tokens' positions: (T, C), or (B, T, C) if
  // the batch gives positions.
  [[nodiscard]] static at::Tensor positions(const at::Tensor& table,
                                            const LayerContext& context) {
    const at::Tensor& inputs = context.batch.inputs;
    const at::Tensor& given = context.batch.positions;
    const std::int64_t first = first_position(context);
    return split_embedding(
        given.defined()
            ? given
            : at::arange(first, first + inputs.size(1), inputs.options()),
        {table}, context.deferred);
  }

  // Selects the tokens that a causal head uses: all, or in generation the last
  // one.
  [[nodiscard]] static at::Tensor counted(const at::Tensor& x,
                                          const LayerContext& context) {
    return context.cache == nullptr ? x : x.narrow(1, x.size(1) - 1, 1);
  }
  // Returns a causal head's result from logits (B, T, V): the loss, or in
  // generation the logits.
  [[nodiscard]] static at::Tensor loss_or_logits(const at::Tensor& logits,
                                                 const LayerContext& context) {
    at::Tensor flat = logits.view({-1, logits.size(-1)});
    if (context.cache != nullptr) return flat;
    return cross_entropy(flat, context.batch.targets.reshape({-1}),
                         context.batch.total.tokens);
  }

  // Cross entropy of logits (N, classes) and targets (N), divided by the target
  // count of the whole mini-batch, so that the losses of micro-batches sum to
  // the mini-batch's.
  [[nodiscard]] static at::Tensor cross_entropy(const at::Tensor& logits,
                                                const at::Tensor& targets,
                                                std::int64_t count) {
    return cross_entropy_sum(logits, targets) /
           static_cast<double>(std::max<std::int64_t>(count, 1));
  }

  // Operations of a block: four projections, two feed-forward layers and
  // attention.
  [[nodiscard]] double block_flops() const {
    const double tokens = shape().seq, hidden = shape().hidden;
    return 2 * tokens * (4 * hidden * hidden + 2 * hidden * shape().ffn) +
           4 * tokens * tokens * hidden;
  }

 private:
  std::string name_;
  std::vector<ParameterSpec> parameters_;
  ModelDetails details_;
};

}  // namespace chimera
