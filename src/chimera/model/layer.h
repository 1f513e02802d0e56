// A model is a flat list of layers, and a stage a range of it. A layer has no
// state: its weights are passed in, so that several versions of them can be
// live at once (PipeDream), and two pipes can share one.
//
// Who owns the weights makes them leaves that require gradients, presets their
// .grad (a view of a flat buffer, say), runs forwards over the layers of a
// stage and then one backward per stage. Every gradient is added in place into
// .grad; see split_backward.h.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "chimera/model/parameter_spec.h"
#include "chimera/model/tensor_batch.h"
#include "chimera/model/weight_grad_queue.h"

namespace chimera {

// What a forward depends on besides its input and weights.
struct LayerContext {
  const TensorBatch& batch;  // read during forward only
  std::int64_t seed = 0;
  std::int64_t step = 0;
  bool training = true;  // false: no dropout
  // Takes the weight gradients; must outlive the backward. Null: they are
  // computed with the backward.
  WeightGradQueue* deferred = nullptr;
  int layer = 0;  // index in the flat list; keys dropout
};

// Immutable after construction; forward may run on several threads at once.
class Layer {
 public:
  virtual ~Layer() = default;

  // The flat list's name of it: "embeddings", "h.0", "head".
  [[nodiscard]] virtual const std::string& name() const = 0;
  [[nodiscard]] virtual const std::vector<ParameterSpec>& parameters()
      const = 0;

  // `x` is undefined for the first layer, which reads context.batch. The last
  // layer returns the scalar loss of its samples, already divided by
  // context.batch.total: losses of micro-batches add up to the mini-batch's.
  // REQUIRES: weights in the order of parameters().
  [[nodiscard]] virtual at::Tensor forward(
      const at::Tensor& x, std::span<const at::Tensor> weights,
      const LayerContext& context) const = 0;

  // Of one sample; a backward takes about twice as many.
  [[nodiscard]] virtual double forward_flops() const = 0;

  // Whether context.deferred takes anything, so that W has work of its own.
  [[nodiscard]] virtual bool splits_backward() const { return true; }

  // The only weights that forward takes; empty: any of the right shapes.
  [[nodiscard]] virtual std::vector<at::Tensor> own_weights() const {
    return {};
  }
  [[nodiscard]] bool supports_versions() const { return own_weights().empty(); }

  // The same layer with weights of its own, of any values, for one thread:
  // each holder of a stage runs one. Null where all can share this.
  // REQUIRES: not null if own_weights() is not empty.
  [[nodiscard]] virtual std::unique_ptr<Layer> replica() const {
    return nullptr;
  }
};

}  // namespace chimera
