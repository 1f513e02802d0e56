#include "chimera/model/bf16_attention.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "chimera/model/bf16_products.h"

namespace chimera {
namespace {

struct Case {
  std::int64_t heads, key_heads, tokens, width;
  bool causal;
};

// (B, H, T, D), laid out as (B, T, H, D).
at::Tensor random_heads(std::int64_t heads, const Case& of) {
  return at::randn({2, of.tokens, heads, of.width})
      .to(at::kBFloat16)
      .transpose(1, 2)
      .requires_grad_(true);
}

Projections random_projections(const Case& of) {
  return {random_heads(of.heads, of), random_heads(of.key_heads, of),
          random_heads(of.key_heads, of)};
}

// The output, and the gradients of query, key and value.
std::vector<at::Tensor> with_gradients(const at::Tensor& output,
                                       const Projections& of,
                                       const at::Tensor& gradient) {
  std::vector<at::Tensor> found =
      torch::autograd::grad({output}, {of.query, of.key, of.value}, {gradient});
  found.insert(found.begin(), output.detach());
  return found;
}

double distance(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor exact = b.to(at::kDouble);
  return ((a.to(at::kDouble) - exact).norm() / exact.norm()).item<double>();
}

class Bf16Attention : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_bf16_products()) GTEST_SKIP() << "no bf16 products on this CPU";
    at::manual_seed(1);
  }
};

TEST_F(Bf16Attention, EqualsAttentionInDoublePrecision) {
  for (const Case& of : {Case{2, 2, 128, 64, true}, Case{2, 2, 128, 64, false},
                         Case{4, 2, 77, 32, true}, Case{3, 1, 200, 48, true},
                         Case{2, 2, 5, 16, false}}) {
    const Projections bf16 = random_projections(of);
    ASSERT_TRUE(can_use_bf16_attention(bf16));
    const at::Tensor gradient =
        at::randn({2, of.heads, of.tokens, of.width}).to(at::kBFloat16);
    const auto found =
        with_gradients(bf16_attention(bf16, of.causal), bf16, gradient);
    const auto expected = with_gradients(
        at::scaled_dot_product_attention(
            bf16.query.to(at::kDouble), bf16.key.to(at::kDouble),
            bf16.value.to(at::kDouble), {}, 0.0, of.causal, {}, true),
        bf16, gradient.to(at::kDouble));
    for (std::size_t i = 0; i < found.size(); ++i) {
      // Probabilities, their gradients and the result are rounded to bf16.
      EXPECT_LT(distance(found[i], expected[i]), 0x1p-7)
          << of.tokens << " tokens, tensor " << i;
    }
  }
}

TEST_F(Bf16Attention, ASampleHasTheSameBitsInAnyBatch) {
  const Case of{2, 2, 70, 32, true};
  const Projections both = random_projections(of);
  const at::Tensor gradient = at::randn({2, 2, 70, 32}).to(at::kBFloat16);
  const auto whole = with_gradients(bf16_attention(both, true), both, gradient);
  const auto second = [](const at::Tensor& x) {
    return x.detach().narrow(0, 1, 1).requires_grad_(true);
  };
  const Projections one{second(both.query), second(both.key),
                        second(both.value)};
  const auto alone =
      with_gradients(bf16_attention(one, true), one, gradient.narrow(0, 1, 1));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_TRUE(alone[i].equal(whole[i].narrow(0, 1, 1))) << "tensor " << i;
  }
}

TEST_F(Bf16Attention, NotANumberIsPassedOn) {
  const Case of{1, 1, 20, 16, true};
  const Projections bf16 = random_projections(of);
  bf16.query.data()[0][0][7][3] = NAN;
  const at::Tensor output = bf16_attention(bf16, true);
  EXPECT_TRUE(output[0][0][7].isnan().all().item<bool>());
  EXPECT_TRUE(output[0][0][6].isfinite().all().item<bool>());
}

TEST_F(Bf16Attention, OnlyWhatItCanCompute) {
  Projections other = random_projections({2, 2, 8, 16, true});
  other.key = other.key.narrow(2, 0, 4);
  EXPECT_FALSE(can_use_bf16_attention(other));
  EXPECT_FALSE(can_use_bf16_attention(random_projections({2, 2, 8, 12, true})));
  const Projections bf16 = random_projections({2, 2, 8, 16, true});
  EXPECT_FALSE(can_use_bf16_attention({bf16.query.to(at::kFloat),
                                       bf16.key.to(at::kFloat),
                                       bf16.value.to(at::kFloat)}));
}

}  // namespace
}  // namespace chimera
