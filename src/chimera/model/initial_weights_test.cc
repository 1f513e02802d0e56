#include "chimera/model/initial_weights.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace chimera {
namespace {

ParameterSpec normal_spec(const std::string& name) {
  return {.name = name, .shape = {301, 333}, .std = 0.02};
}

TEST(InitParameter, IsNormal) {
  const at::Tensor values =
      init_parameter(normal_spec("a"), 1, at::kDouble) / 0.02;
  const double size = 301 * 333;
  EXPECT_NEAR(values.mean().item<double>(), 0, 5 / std::sqrt(size));
  EXPECT_NEAR(values.square().mean().item<double>(), 1,
              5 * std::sqrt(2 / size));
  EXPECT_NEAR(values.pow(4).mean().item<double>(), 3, 5 * std::sqrt(96 / size));
  const double inside =
      values.abs().lt(1).to(at::kDouble).mean().item<double>();
  EXPECT_NEAR(inside, std::erf(std::sqrt(0.5)), 5 * 0.5 / std::sqrt(size));
}

TEST(InitParameter, FollowsSeedAndNameAlone) {
  const at::Tensor first = init_parameter(normal_spec("a"), 1, at::kDouble);
  EXPECT_TRUE(first.equal(init_parameter(normal_spec("a"), 1, at::kDouble)));
  EXPECT_FALSE(first.equal(init_parameter(normal_spec("b"), 1, at::kDouble)));
  EXPECT_FALSE(first.equal(init_parameter(normal_spec("a"), 2, at::kDouble)));
  EXPECT_TRUE(first.to(at::kFloat)
                  .equal(init_parameter(normal_spec("a"), 1, at::kFloat)));
}

TEST(InitParameter, ConstantsAreConstant) {
  const ParameterSpec bias{.name = "b", .shape = {3}, .init = Init::kZeros};
  const ParameterSpec norm{.name = "n", .shape = {3}, .init = Init::kOnes};
  EXPECT_TRUE(init_parameter(bias, 1, at::kFloat).equal(at::zeros({3})));
  EXPECT_TRUE(init_parameter(norm, 1, at::kFloat).equal(at::ones({3})));
}

}  // namespace
}  // namespace chimera
