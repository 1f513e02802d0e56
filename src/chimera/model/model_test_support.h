// A tiny model with its weights, for tests: float64 leaves with gradients in
// views of one flat buffer.
#pragma once

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <map>
#include <string>
#include <vector>

#include "chimera/base/counter_random.h"
#include "chimera/model/initial_weights.h"
#include "chimera/model/model.h"

namespace chimera {

inline ModelDetails tiny_details(ModelKind kind, bool tied, double dropout) {
  LlamaShape llama;
  if (kind == ModelKind::kLlama) llama = {.kv_heads = 1, .head_dim = 6};
  return default_details({.kind = kind,
                          .layers = 2,
                          .hidden = 8,
                          .heads = 2,
                          .vocab = 11,
                          .seq = 5,
                          .positions = 7,
                          .ffn = 12,
                          .tie_embeddings = tied,
                          .llama = llama},
                         dropout);
}

inline TargetCount count_targets(const Batch& batch) {
  TargetCount count{.samples = batch.samples};
  for (const std::int64_t target : batch.targets) {
    if (target != kIgnoredTarget) ++count.tokens;
  }
  return count;
}

inline Batch tiny_batch(const ModelShape& shape, int samples) {
  const CounterRandom random(RandomUse::kMasking, {1});
  Batch batch{.samples = samples, .seq = shape.seq};
  for (int sample = 0; sample < samples; ++sample) {
    batch.sample_ids.push_back(100 + sample);
    if (shape.kind == ModelKind::kBert) {
      batch.next_sentence.push_back(sample % 2);
    }
    for (int place = 0; place < shape.seq; ++place) {
      const std::uint64_t at = 4 * batch.inputs.size();
      batch.inputs.push_back(random.below(at, shape.vocab));
      const bool counts = is_causal(shape.kind) || random.below(at + 1, 3) == 0;
      batch.targets.push_back(
          counts ? static_cast<std::int64_t>(random.below(at + 2, shape.vocab))
                 : kIgnoredTarget);
      if (shape.kind == ModelKind::kBert) {
        batch.token_types.push_back(random.below(at + 3, 2));
      }
    }
  }
  return batch;
}

// Random values far from the usual initial ones. With the usual ones, norms and
// biases would have no effect.
inline at::Tensor lively(ParameterSpec spec) {
  spec.init = Init::kNormal;
  spec.std = 0.3;
  return init_parameter(spec, 7, at::kDouble);
}

class OwnedModel {
 public:
  explicit OwnedModel(const ModelDetails& details)
      : model(make_model(details)),
        buffer(at::zeros({parameter_count(model)}, at::kDouble)) {
    std::int64_t offset = 0;
    for (const auto& layer : model.layers) {
      auto& list = weights.emplace_back();
      for (const ParameterSpec& spec : layer->parameters()) {
        at::Tensor& leaf = by_name[spec.name];
        if (!leaf.defined()) {
          leaf = lively(spec).requires_grad_();
          leaf.mutable_grad() =
              buffer.narrow(0, offset, numel(spec)).view(spec.shape);
          offset += numel(spec);
        }
        list.push_back(leaf);
      }
    }
  }

  at::Tensor forward(const TensorBatch& batch, WeightGradQueue* deferred,
                     bool training = true) const {
    at::Tensor x;
    for (std::size_t at = 0; at < model.layers.size(); ++at) {
      x = model.layers[at]->forward(x, weights[at],
                                    {.batch = batch,
                                     .seed = 3,
                                     .step = 4,
                                     .training = training,
                                     .deferred = deferred,
                                     .layer = static_cast<int>(at)});
    }
    return x;
  }

  // Runs forward and backward and returns the loss. Gradients are added to the
  // buffer, or wait in `deferred`.
  double step(const TensorBatch& batch, WeightGradQueue* deferred = nullptr) {
    const at::Tensor loss = forward(batch, deferred);
    torch::autograd::backward({loss}, {});
    return loss.item<double>();
  }

  Model model;
  at::Tensor buffer;  // all gradients
  std::vector<std::vector<at::Tensor>> weights;
  std::map<std::string, at::Tensor> by_name;
};

// Returns the largest difference divided by the allowed one (the float64
// bound). The norm of all gradients is part of the bound because some gradients
// are pure rounding error: a key's bias shifts all scores of a row equally,
// which softmax ignores.
inline double parity(const at::Tensor& found, const at::Tensor& expected,
                     const at::Tensor& all) {
  const double allowed = 1e-12 * expected.abs().max().item<double>() +
                         1e-14 * all.norm().item<double>();
  return (found - expected).abs().max().item<double>() / allowed;
}

}  // namespace chimera
