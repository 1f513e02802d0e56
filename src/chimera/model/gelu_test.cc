#include "chimera/model/gelu.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

namespace chimera {
namespace {

// Every finite bf16 number but the largest, whose cubes overflow.
at::Tensor all_numbers() {
  const at::Tensor bits = at::arange(-32768, 32768, at::kShort);
  const at::Tensor all = bits.view(at::kBFloat16);
  return all.masked_select(all.isfinite() & all.abs().lt(1e12));
}

TEST(Gelu, EqualsItsDefinitionForEveryNumber) {
  const at::Tensor x = all_numbers().requires_grad_(true);
  const at::Tensor exact = x.detach().to(at::kDouble).requires_grad_(true);
  const at::Tensor y = gelu_by_tanh(x);
  const at::Tensor expected = at::gelu(exact, "tanh");
  // The tolerance is the rounding to bf16, and the error that float32 leaves in
  // 1 + tanh(u) for u far below 0.
  EXPECT_TRUE(at::allclose(y.to(at::kDouble), expected, 0x1p-8, 1e-6));
  const at::Tensor slope =
      torch::autograd::grad({y}, {x}, {at::ones_like(x)})[0];
  const at::Tensor expected_slope =
      torch::autograd::grad({expected}, {exact}, {at::ones_like(exact)})[0];
  EXPECT_TRUE(at::allclose(slope.to(at::kDouble), expected_slope.nan_to_num(),
                           0x1p-8, 1e-5));
}

TEST(Gelu, Float32IsLibtorchs) {
  const at::Tensor x = at::randn({1000});
  EXPECT_TRUE(gelu_by_tanh(x).equal(at::gelu(x, "tanh")));
}

}  // namespace
}  // namespace chimera
