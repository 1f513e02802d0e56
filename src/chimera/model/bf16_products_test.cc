#include "chimera/model/bf16_products.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace chimera {
namespace {

TEST(Bf16Products, AreAddedWithoutRoundingToBf16) {
  if (!has_bf16_products()) GTEST_SKIP() << "no bf16 products on this CPU";
  at::manual_seed(1);
  for (const auto& [k, m, n] : std::vector<std::array<std::int64_t, 3>>{
           {256, 128, 512}, {33, 70, 272}, {1, 2, 16}, {0, 32, 32}}) {
    const at::Tensor left = at::randn({k, m}).to(at::kBFloat16);
    const at::Tensor right = at::randn({k, n}).to(at::kBFloat16);
    const at::Tensor sum = at::randn({m, n});
    const at::Tensor expected =
        sum.to(at::kDouble) +
        at::mm(left.t().to(at::kDouble), right.to(at::kDouble));
    ASSERT_TRUE(add_bf16_product(sum, left, right));
    EXPECT_LT((sum - expected).abs().max().item<double>(), 1e-4)
        << k << " x " << m << " x " << n;
  }
}

// On processors with AMX, libtorch's operators change the tile registers.
TEST(Bf16Products, AreRightBetweenOperatorsOfLibtorch) {
  if (!has_bf16_products()) GTEST_SKIP() << "no bf16 products on this CPU";
  at::manual_seed(1);
  const at::Tensor left = at::randn({64, 32}).to(at::kBFloat16);
  const at::Tensor right = at::randn({64, 96}).to(at::kBFloat16);
  const at::Tensor expected =
      at::mm(left.t().to(at::kFloat), right.to(at::kFloat));
  for (int round = 0; round < 3; ++round) {
    const at::Tensor sum = at::zeros({32, 96});
    ASSERT_TRUE(add_bf16_product(sum, left, right));
    EXPECT_LT((sum - expected).abs().max().item<double>(), 1e-4);
    EXPECT_TRUE(at::linear(left, at::ones({16, 32}, at::kBFloat16))
                    .isfinite()
                    .all()
                    .item<bool>());
  }
}

TEST(Bf16Products, AreRefusedWhereRowsDoNotFit) {
  const at::Tensor narrow = at::ones({4, 15}, at::kBFloat16);
  const at::Tensor wide = at::ones({4, 32}, at::kBFloat16);
  EXPECT_FALSE(add_bf16_product(at::zeros({32, 15}), wide, narrow));
  EXPECT_FALSE(add_bf16_product(at::zeros({15, 32}), narrow, wide));
  EXPECT_FALSE(add_bf16_product(at::zeros({32, 32}), wide.to(at::kFloat),
                                wide.to(at::kFloat)));
}

}  // namespace
}  // namespace chimera
