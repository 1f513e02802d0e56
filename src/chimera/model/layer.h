// A model is a list of layers, and a stage is a range of that list. A layer has
// no state: its weights are passed in, so that several versions of them can
// exist at once (PipeDream) and two pipes can share one.
//
// The owner of the weights makes them leaves that require gradients, presets
// their .grad (a view of a flat buffer, for example), runs the forwards of a
// stage's layers and then one backward per stage. Every gradient is added in
// place into .grad; see split_backward.h.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "chimera/model/kv_cache.h"
#include "chimera/model/parameter_spec.h"
#include "chimera/model/tensor_batch.h"
#include "chimera/model/weight_grad_queue.h"

namespace chimera {

// Constant tables that layers make on the CPU (such as rotary angles), each
// copied once to the device of a stage.
class DeviceTables {
 public:
  explicit DeviceTables(at::Device device) : device_(device) {}

  [[nodiscard]] at::Tensor get(const at::Tensor& host) {
    at::Tensor& copy = copies_[host.unsafeGetTensorImpl()];
    if (!copy.defined()) copy = to_device(host, device_);
    return copy;
  }

 private:
  at::Device device_;
  // Keyed by the table's tensor on the host, which its layer keeps alive.
  std::map<const at::TensorImpl*, at::Tensor> copies_;
};

// Everything a forward depends on besides its input and weights.
struct LayerContext {
  const TensorBatch& batch;  // read in forwards only
  std::int64_t seed = 0;
  std::int64_t step = 0;
  bool training = true;  // false: no dropout
  // Receives the work that computes the weight gradients; must outlive the
  // backward. Null: weight gradients are computed in the backward.
  WeightGradQueue* deferred = nullptr;
  int layer = 0;  // index in the list of layers; keys dropout
  // Tables on the stage's device; null: on the CPU.
  DeviceTables* tables = nullptr;
  // Set in generation: attention also sees the tokens in the cache, and the
  // last layer returns the logits (B, vocab) of the last token instead of a
  // loss.
  KvCache* cache = nullptr;
};

// Immutable after construction; forward may run on several threads at once.
class Layer {
 public:
  virtual ~Layer() = default;

  // The name in the list of layers: "embeddings", "h.0", "head".
  [[nodiscard]] virtual const std::string& name() const = 0;
  [[nodiscard]] virtual const std::vector<ParameterSpec>& parameters()
      const = 0;

  // Computes the layer's output. `x` is undefined for the first layer, which
  // reads context.batch. The last layer returns the scalar loss of its samples,
  // already divided by context.batch.total, so that the losses of micro-batches
  // sum to the mini-batch's.
  // REQUIRES: `weights` are in the order of parameters().
  [[nodiscard]] virtual at::Tensor forward(
      const at::Tensor& x, std::span<const at::Tensor> weights,
      const LayerContext& context) const = 0;

  // Floating-point operations of one sample's forward; a backward takes about
  // twice as many.
  [[nodiscard]] virtual double forward_flops() const = 0;

  // True if the layer uses context.deferred, so that W has work to do.
  [[nodiscard]] virtual bool splits_backward() const { return true; }

  // Tensors owned by the layer, the only ones that its forward accepts as
  // weights. Empty: forward accepts any tensors of the right shapes.
  [[nodiscard]] virtual std::vector<at::Tensor> own_weights() const {
    return {};
  }
  [[nodiscard]] bool supports_versions() const { return own_weights().empty(); }

  // A copy of the layer with separate weights (values unspecified) for one
  // thread: each holder of a stage runs its own copy. Null if all holders can
  // share this layer. REQUIRES: not null if own_weights() is not empty.
  [[nodiscard]] virtual std::unique_ptr<Layer> replica() const {
    return nullptr;
  }
};

}  // namespace chimera
