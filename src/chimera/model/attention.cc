#include "chimera/model/attention.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "chimera/model/bf16_attention.h"

namespace chimera {
namespace {

// (B, T, C) -> (B, H, T, C / H)
at::Tensor split_heads(const at::Tensor& x, int heads) {
  return x.view({x.size(0), x.size(1), heads, x.size(2) / heads})
      .transpose(1, 2);
}

// Computes the probabilities as a tensor of their own, so that dropout can be
// applied to them.
at::Tensor explicit_attention(const Projections& by_head,
                              const Attention& options,
                              const LayerContext& context) {
  const double scale = 1 / std::sqrt(double(by_head.query.size(-1)));
  const std::int64_t sharing = by_head.query.size(1) / by_head.key.size(1);
  const auto for_each_query = [&](const at::Tensor& x) {
    return sharing == 1 ? x : x.repeat_interleave(sharing, 1);
  };
  at::Tensor scores = at::matmul(
      by_head.query * scale,
      for_each_query(by_head.key).transpose(-2, -1));  // (B, H, T, T)
  if (options.causal) {
    const std::int64_t length = scores.size(-1);
    const at::Tensor future =
        at::ones({length, length}, scores.options().dtype(at::kBool)).triu(1);
    scores =
        scores.masked_fill(future, -std::numeric_limits<double>::infinity());
  }
  if (const at::Tensor& sees = context.batch.sees; sees.defined()) {
    scores = scores.masked_fill(sees.logical_not(),
                                -std::numeric_limits<double>::infinity());
  }
  const at::Tensor kept =
      dropout(at::softmax(scores, -1), options.dropout, context);
  return at::matmul(kept, for_each_query(by_head.value));
}

// The mask for the fused kernel, which takes either a mask or the causal flag.
// Undefined if the causal flag alone is enough.
at::Tensor fused_mask(const Attention& options, const LayerContext& context) {
  const at::Tensor& sees = context.batch.sees;
  return sees.defined() && options.causal ? sees.tril() : sees;
}

at::Tensor fused_attention(const Projections& all, bool causal,
                           const at::Tensor& mask) {
  if (!mask.defined() && can_use_bf16_attention(all)) {
    return bf16_attention(all, causal);
  }
  const bool shares = all.query.size(1) != all.key.size(1);
  return at::scaled_dot_product_attention(
      all.query, all.key, all.value,
      mask.defined() ? std::optional(mask) : std::nullopt, 0.0,
      causal && !mask.defined(), std::nullopt, shares);
}

}  // namespace

at::Tensor attention_by_head(const Projections& by_head,
                             const Attention& options,
                             const LayerContext& context) {
  const Projections all = context.cache == nullptr
                              ? by_head
                              : context.cache->extend(context.layer, by_head);
  // A single new token in generation may see all earlier ones, so it needs no
  // causal mask.
  const bool masks = options.causal && all.query.size(2) == all.key.size(2);
  const bool drops = options.dropout.rate > 0 && context.training;
  const at::Tensor mixed =  // (B, H, T, D)
      drops ? explicit_attention(all, options, context)
            : fused_attention(all, masks, fused_mask(options, context));
  return mixed.transpose(1, 2).reshape(
      {mixed.size(0), mixed.size(2), mixed.size(1) * mixed.size(3)});
}

at::Tensor attention(const Projections& projections, int heads,
                     const Attention& options, const LayerContext& context) {
  return attention_by_head({split_heads(projections.query, heads),
                            split_heads(projections.key, heads),
                            split_heads(projections.value, heads)},
                           options, context);
}

}  // namespace chimera
