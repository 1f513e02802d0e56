#include "chimera/model/split_backward.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "chimera/model/bf16_products.h"

namespace chimera {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// What a backward needs besides tensors.
struct Wiring : torch::CustomClassHolder {
  Wiring(WeightGradQueue* queue, WeightLayout weight_layout, std::int64_t row)
      : deferred(queue), layout(weight_layout), padding_row(row) {}
  WeightGradQueue* deferred;
  WeightLayout layout;
  std::int64_t padding_row;
};

void keep(AutogradContext* context, c10::intrusive_ptr<Wiring> wiring) {
  context->saved_data["wiring"] = c10::IValue::make_capsule(std::move(wiring));
}

const Wiring& wiring_of(AutogradContext* context) {
  const auto capsule = context->saved_data["wiring"].toCapsule();
  return static_cast<const Wiring&>(*capsule);  // the context keeps it alive
}

// Runs `work` now, or leaves it to W if the backward is split.
void run_or_defer(WeightGradQueue* deferred, std::function<void()> work) {
  if (deferred != nullptr) {
    deferred->push(std::move(work));
  } else {
    work();
  }
}

// The tensor to which gradients of `leaf` are added.
at::Tensor& grad_of(const at::Tensor& leaf) {
  at::Tensor& grad = leaf.mutable_grad();
  if (!grad.defined()) grad = at::zeros_like(leaf.detach());
  return grad;
}

// Returns `part`, or a copy if it is a view of a few rows of a tensor: the view
// would keep the whole tensor until W.
at::Tensor without_the_rest(const at::Tensor& part) {
  const bool is_small = 2 * part.nbytes() <= part.storage().nbytes();
  return is_small ? part.clone() : part;
}

// Adds a (m, k) times b (k, n) to `sum` (m, n).
void add_product(const at::Tensor& sum, const at::Tensor& a,
                 const at::Tensor& b) {
  if (sum.scalar_type() == a.scalar_type()) {
    sum.addmm_(a, b);
    return;
  }
  if (add_bf16_product(sum, a.t(), b)) return;
  // A product that is rounded to bf16 is added while it is still in a cache.
  constexpr std::int64_t kNumbers = 1 << 19;
  const std::int64_t rows = sum.size(0);
  const std::int64_t most = std::max<std::int64_t>(1, kNumbers / sum.size(1));
  for (std::int64_t first = 0; first < rows; first += most) {
    const std::int64_t count = std::min(most, rows - first);
    sum.narrow(0, first, count).add_(at::mm(a.narrow(0, first, count), b));
  }
}

class SplitLinear : public torch::autograd::Function<SplitLinear> {
 public:
  // x (N, in) -> (N, out)
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias,
                            c10::intrusive_ptr<Wiring> wiring) {
    const at::Tensor in_out =
        wiring->layout == WeightLayout::kInOut ? weight : weight.t();
    context->save_for_backward({x, weight, bias.value_or(at::Tensor())});
    keep(context, std::move(wiring));
    return bias ? at::addmm(*bias, x, in_out) : at::mm(x, in_out);
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& grads) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& weight = saved[1];
    const Wiring& wiring = wiring_of(context);
    at::Tensor grad_x;
    if (context->needs_input_grad(0)) {
      grad_x =
          at::mm(grads[0],
                 wiring.layout == WeightLayout::kInOut ? weight.t() : weight);
    }
    // Detached, because a saved x would keep its graph alive until W.
    run_or_defer(wiring.deferred,
                 [x = without_the_rest(saved[0].detach()), weight,
                  bias = saved[2], grad = grads[0], layout = wiring.layout] {
                   add_weight_grads(x, {weight, bias, layout}, grad);
                 });
    // Returns no gradient of the weights to autograd, because the work above
    // adds it.
    return {grad_x, {}, {}, {}};
  }

 private:
  static void add_weight_grads(const at::Tensor& x,
                               const LinearWeights& weights,
                               const at::Tensor& grad) {
    if (weights.weight.requires_grad()) {
      if (weights.layout == WeightLayout::kInOut) {
        add_product(grad_of(weights.weight), x.t(), grad);
      } else {
        add_product(grad_of(weights.weight), grad.t(), x);
      }
    }
    if (weights.bias.defined() && weights.bias.requires_grad()) {
      at::Tensor& sum = grad_of(weights.bias);
      sum.add_(grad.sum({0}, /*keepdim=*/false, sum.scalar_type()));
    }
  }
};

class SplitEmbedding : public torch::autograd::Function<SplitEmbedding> {
 public:
  // indices (N) -> (N, C)
  static at::Tensor forward(AutogradContext* context, const at::Tensor& weight,
                            const at::Tensor& indices,
                            c10::intrusive_ptr<Wiring> wiring) {
    context->save_for_backward({weight, indices});
    keep(context, std::move(wiring));
    return at::embedding(weight, indices);
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& grads) {
    const variable_list saved = context->get_saved_variables();
    const Wiring& wiring = wiring_of(context);
    run_or_defer(wiring.deferred,
                 [weight = saved[0], indices = saved[1], grad = grads[0],
                  padding_row = wiring.padding_row] {
                   add_weight_grad({weight, padding_row}, indices, grad);
                 });
    return {{}, {}, {}};
  }

 private:
  static void add_weight_grad(const EmbeddingWeights& weights,
                              const at::Tensor& indices, at::Tensor grad) {
    if (weights.padding_row >= 0) {
      const at::Tensor padding = indices.eq(weights.padding_row);
      grad = grad.masked_fill(padding.unsqueeze(1), 0);
    }
    at::Tensor& sum = grad_of(weights.weight);
    sum.index_add_(0, indices, grad.to(sum.scalar_type()));
  }
};

}  // namespace

at::Tensor split_linear(const at::Tensor& x, const LinearWeights& weights,
                        WeightGradQueue* deferred) {
  const bool in_out = weights.layout == WeightLayout::kInOut;
  std::vector<std::int64_t> sizes = x.sizes().vec();
  const std::optional<at::Tensor> bias =
      weights.bias.defined() ? std::optional(weights.bias) : std::nullopt;
  const at::Tensor y = SplitLinear::apply(
      x.reshape({-1, sizes.back()}), weights.weight, bias,
      c10::make_intrusive<Wiring>(deferred, weights.layout, -1));
  sizes.back() = weights.weight.size(in_out ? 1 : 0);
  return y.view(sizes);
}

at::Tensor split_embedding(const at::Tensor& indices,
                           const EmbeddingWeights& weights,
                           WeightGradQueue* deferred) {
  std::vector<std::int64_t> sizes = indices.sizes().vec();
  const at::Tensor y = SplitEmbedding::apply(
      weights.weight, indices.reshape({-1}),
      c10::make_intrusive<Wiring>(deferred, WeightLayout::kInOut,
                                  weights.padding_row));
  sizes.push_back(weights.weight.size(1));
  return y.view(sizes);
}

}  // namespace chimera
