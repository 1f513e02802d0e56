#include "chimera/model/module_layer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/cloneable.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include "chimera/base/check.h"

namespace chimera {
namespace {

struct Scale : torch::nn::Cloneable<Scale> {
  Scale() { reset(); }
  void reset() override {
    factor = register_parameter("factor", at::full({2, 1}, 3.0));
    shift = register_parameter("shift", at::ones({1}), false);
  }
  at::Tensor forward(const at::Tensor& x) const { return x * factor + shift; }
  at::Tensor factor;
  at::Tensor shift;  // frozen
};

TEST(ModuleLayer, RunsAModuleWithItsOwnWeightsOnly) {
  const auto module = std::make_shared<Scale>();
  const auto layer = make_module_layer("scale", module);
  ASSERT_EQ(layer->parameters().size(), 1);  // frozen one is not listed
  EXPECT_EQ(layer->parameters()[0].name, "scale.factor");
  EXPECT_EQ(layer->parameters()[0].shape, (std::vector<std::int64_t>{2, 1}));
  EXPECT_FALSE(layer->splits_backward());
  EXPECT_FALSE(layer->supports_versions());

  const TensorBatch batch;
  const at::Tensor x = at::ones({2, 2});
  const at::Tensor y =
      layer->forward(x, layer->own_weights(), {.batch = batch});
  EXPECT_TRUE(y.equal(x * 3 + 1));
  EXPECT_THROW((void)layer->forward(x, std::vector{module->factor.clone()},
                                    {.batch = batch}),
               InternalError);
}

TEST(ModuleLayer, OnlyWhatMultipliesDecays) {
  const torch::nn::Sequential module(
      torch::nn::Embedding(5, 4), torch::nn::Linear(4, 4),
      torch::nn::LayerNorm(torch::nn::LayerNormOptions({2, 2})));
  std::vector<std::string> decaying;
  const auto layer =
      make_module_layer({.name = "own", .module = module.ptr(), .forward = {}});
  for (const ParameterSpec& spec : layer->parameters()) {
    if (spec.decays) decaying.push_back(spec.name);
  }
  EXPECT_EQ(decaying, std::vector<std::string>{"own.1.weight"});
}

TEST(ModuleLayer, AReplicaIsFrozenWhereTheModuleIs) {
  const torch::nn::Linear module(2, 2);
  module->weight.set_requires_grad(false);
  const auto layer = make_module_layer("linear", module.ptr());
  ASSERT_EQ(layer->parameters().size(), 1);
  EXPECT_EQ(layer->replica()->parameters(), layer->parameters());
}

TEST(ModuleLayer, AReplicaSharesNothing) {
  const auto module = std::make_shared<Scale>();
  const auto layer = make_module_layer("scale", module);
  const auto replica = layer->replica();
  EXPECT_EQ(replica->parameters(), layer->parameters());
  const at::NoGradGuard no_grad;
  module->factor.fill_(5);
  const TensorBatch batch;
  const at::Tensor x = at::ones({2, 2});
  EXPECT_TRUE(replica->forward(x, replica->own_weights(), {.batch = batch})
                  .equal(x * 3 + 1));
}

TEST(ModuleLayer, EvaluationsTellTheModule) {
  const auto module = std::make_shared<Scale>();
  const auto layer = make_module_layer(
      "scale", module, [](Scale& own, const at::Tensor& x, const auto&) {
        return own.is_training() ? x : -x;
      });
  const TensorBatch batch;
  const at::Tensor x = at::ones({1});
  for (const bool training : {true, false, true}) {
    const at::Tensor y = layer->forward(x, layer->own_weights(),
                                        {.batch = batch, .training = training});
    EXPECT_TRUE(y.equal(training ? x : -x));
  }
}

}  // namespace
}  // namespace chimera
