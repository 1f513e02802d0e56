#include "chimera/model/attention.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

namespace chimera {
namespace {

// (B, T, C) -> (B, H, T, C / H)
at::Tensor split_heads(const at::Tensor& x, int heads) {
  return x.view({x.size(0), x.size(1), heads, x.size(2) / heads})
      .transpose(1, 2);
}

// With probabilities that exist, so that they can be dropped.
at::Tensor explicit_attention(const Projections& by_head,
                              const Attention& options,
                              const LayerContext& context) {
  const double scale = 1 / std::sqrt(double(by_head.query.size(-1)));
  at::Tensor scores = at::matmul(
      by_head.query * scale, by_head.key.transpose(-2, -1));  // (B, H, T, T)
  if (options.causal) {
    const std::int64_t length = scores.size(-1);
    const at::Tensor future =
        at::ones({length, length}, scores.options().dtype(at::kBool)).triu(1);
    scores =
        scores.masked_fill(future, -std::numeric_limits<double>::infinity());
  }
  const at::Tensor kept =
      dropout(at::softmax(scores, -1), options.dropout, context);
  return at::matmul(kept, by_head.value);
}

}  // namespace

at::Tensor attention(const Projections& projections, const Attention& options,
                     const LayerContext& context) {
  const Projections by_head = {split_heads(projections.query, options.heads),
                               split_heads(projections.key, options.heads),
                               split_heads(projections.value, options.heads)};
  const bool drops = options.dropout.rate > 0 && context.training;
  const at::Tensor mixed =  // (B, H, T, C / H)
      drops ? explicit_attention(by_head, options, context)
            : at::scaled_dot_product_attention(by_head.query, by_head.key,
                                               by_head.value, {}, 0.0,
                                               options.causal);
  return mixed.transpose(1, 2).reshape(projections.query.sizes());
}

}  // namespace chimera
