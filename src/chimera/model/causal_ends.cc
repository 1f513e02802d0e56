#include "chimera/model/causal_ends.h"

#include <ATen/ATen.h>

#include "chimera/model/parameter_list.h"
#include "chimera/model/rms_norm.h"
#include "chimera/model/transformer_layer.h"

namespace chimera {
namespace {

class CausalEmbeddings : public TransformerLayer {
 public:
  CausalEmbeddings(const ModelDetails& details, const CausalNames& names)
      : TransformerLayer("embeddings", list(details.shape, names), details) {}

  at::Tensor forward(const at::Tensor& /*x*/, Weights weights,
                     const LayerContext& context) const override {
    const at::Tensor tokens = split_embedding(
        context.batch.inputs, {weights[0]}, context.deferred);  // (B, T, C)
    const bool learns_positions = weights.size() > 1;
    return drop_embedding(
        learns_positions ? tokens + positions(weights[1], context) : tokens,
        context);
  }

  double forward_flops() const override {
    return 1.0 * static_cast<double>(parameters().size()) * shape().seq *
           shape().hidden;
  }

 private:
  static std::vector<ParameterSpec> list(const ModelShape& shape,
                                         const CausalNames& names) {
    ParameterList list;
    list.embedding(names.tokens, shape.vocab, shape.hidden,
                   shape.tie_embeddings);
    if (!names.positions.empty()) {
      list.embedding(names.positions, shape.positions, shape.hidden);
    }
    return list.take();
  }
};

class CausalHead : public TransformerLayer {
 public:
  CausalHead(const ModelDetails& details, const CausalNames& names)
      : TransformerLayer("head", list(details.shape, names), details) {}

  at::Tensor forward(const at::Tensor& x, Weights weights,
                     const LayerContext& context) const override {
    const at::Tensor last = counted(x, context);
    const at::Tensor normal =
        has_rms_norm(shape()) ? rms_norm(last, weights[0], details().norm_eps)
                              : norm(last, weights);
    const at::Tensor logits = split_linear(normal, {weights.back(), {}},
                                           context.deferred);  // (B, T, V)
    return loss_or_logits(logits, context);
  }

  double forward_flops() const override {
    return 2.0 * shape().seq * shape().hidden * shape().vocab;
  }

 private:
  static bool has_rms_norm(const ModelShape& shape) {
    return shape.kind == ModelKind::kLlama;
  }

  static std::vector<ParameterSpec> list(const ModelShape& shape,
                                         const CausalNames& names) {
    ParameterList list;
    if (has_rms_norm(shape)) {
      list.vector(names.last_norm + ".weight", shape.hidden, Init::kOnes);
    } else {
      list.norm(names.last_norm, shape.hidden);
    }
    if (shape.tie_embeddings) {
      list.embedding(names.tokens, shape.vocab, shape.hidden, true);
    } else {
      list.matrix("lm_head", {shape.hidden, shape.vocab});
    }
    return list.take();
  }
};

}  // namespace

std::unique_ptr<Layer> make_causal_embeddings(const ModelDetails& details,
                                              const CausalNames& names) {
  return std::make_unique<CausalEmbeddings>(details, names);
}

std::unique_ptr<Layer> make_causal_head(const ModelDetails& details,
                                        const CausalNames& names) {
  return std::make_unique<CausalHead>(details, names);
}

}  // namespace chimera
