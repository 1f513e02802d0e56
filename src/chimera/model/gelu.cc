#include "chimera/model/gelu.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include "chimera/model/avx512.h"
#include "chimera/model/bf16_products.h"

namespace chimera {
namespace {

using at::BFloat16;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr float kSlope = 0.7978845608F;  // sqrt(2 / pi)
constexpr float kCube = 0.044715F;

// Returns 1 / (1 + e^-2u) with u = kSlope (x + kCube x^3). x times this factor
// equals x (1 + tanh u) / 2, which is gelu(x).
CHIMERA_AVX512 inline __m512 factor_of(__m512 x, __m512 square) {
  const __m512 u = _mm512_mul_ps(
      _mm512_mul_ps(x, _mm512_set1_ps(-2 * kSlope)),
      _mm512_fmadd_ps(square, _mm512_set1_ps(kCube), _mm512_set1_ps(1)));
  return _mm512_div_ps(_mm512_set1_ps(1),
                       _mm512_add_ps(_mm512_set1_ps(1), exp_of(u)));
}

CHIMERA_AVX512 void run_forward(const BFloat16* from, std::int64_t count,
                                BFloat16* to) {
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const __mmask16 lanes = first_lanes(count - i);
    const __m512 x = load_bf16(from + i, lanes);
    store_bf16(to + i, _mm512_mul_ps(x, factor_of(x, _mm512_mul_ps(x, x))),
               lanes);
  }
}

// The derivative: f + x f (1 - f) 2 kSlope (1 + 3 kCube x^2), f the factor.
CHIMERA_AVX512 void run_backward(const BFloat16* from, const BFloat16* grad,
                                 std::int64_t count, BFloat16* to) {
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const __mmask16 lanes = first_lanes(count - i);
    const __m512 x = load_bf16(from + i, lanes);
    const __m512 square = _mm512_mul_ps(x, x);
    const __m512 factor = factor_of(x, square);
    const __m512 inner = _mm512_mul_ps(
        x, _mm512_fmadd_ps(square, _mm512_set1_ps(6 * kSlope * kCube),
                           _mm512_set1_ps(2 * kSlope)));
    const __m512 rest =
        _mm512_mul_ps(factor, _mm512_sub_ps(_mm512_set1_ps(1), factor));
    store_bf16(to + i,
               _mm512_mul_ps(load_bf16(grad + i, lanes),
                             _mm512_fmadd_ps(inner, rest, factor)),
               lanes);
  }
}

// Elements per task, a multiple of a register's size.
constexpr std::int64_t kGrain = 1 << 14;

class Bf16Gelu : public torch::autograd::Function<Bf16Gelu> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input) {
    const at::Tensor x = input.contiguous();
    at::Tensor y = at::empty_like(x);
    const BFloat16* from = x.const_data_ptr<BFloat16>();
    auto* to = y.mutable_data_ptr<BFloat16>();
    at::parallel_for(0, x.numel(), kGrain,
                     [&](std::int64_t first, std::int64_t end) {
                       run_forward(from + first, end - first, to + first);
                     });
    context->save_for_backward({x});
    return y;
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& grads) {
    const at::Tensor x = context->get_saved_variables()[0];
    const at::Tensor grad = grads[0].contiguous();
    at::Tensor result = at::empty_like(x);
    const BFloat16* from = x.const_data_ptr<BFloat16>();
    const BFloat16* factor = grad.const_data_ptr<BFloat16>();
    auto* to = result.mutable_data_ptr<BFloat16>();
    at::parallel_for(
        0, x.numel(), kGrain, [&](std::int64_t first, std::int64_t end) {
          run_backward(from + first, factor + first, end - first, to + first);
        });
    return {result};
  }
};

}  // namespace

at::Tensor gelu_by_tanh(const at::Tensor& x) {
  static const bool kHasProducts = has_bf16_products();
  if (kHasProducts && x.is_cpu() && x.scalar_type() == at::kBFloat16) {
    return Bf16Gelu::apply(x);
  }
  return at::gelu(x, "tanh");
}

}  // namespace chimera
