#include "chimera/model/rms_norm.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace chimera {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class RmsNorm : public torch::autograd::Function<RmsNorm> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& weight, double eps) {
    const at::Tensor wide = x.to(weight.scalar_type());
    const at::Tensor scale =
        (wide.square().mean(-1, true) + eps).rsqrt();  // (..., 1)
    context->save_for_backward({x, weight, scale});
    return (wide * scale * weight).to(x.scalar_type());
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& grads) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &scale = saved[2];
    const at::Tensor normal = x * scale;
    const at::Tensor scaled = grads[0] * weight;
    const at::Tensor grad_x =
        (scaled - normal * (scaled * normal).mean(-1, true)) * scale;
    const at::Tensor grad_weight =
        (grads[0] * normal).reshape({-1, x.size(-1)}).sum(0);
    return {grad_x.to(x.scalar_type()), grad_weight, {}};
  }
};

}  // namespace

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  return RmsNorm::apply(x, weight, eps);
}

}  // namespace chimera
