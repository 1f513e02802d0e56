#include "chimera/model/module_layer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include "chimera/base/check.h"

namespace chimera {
namespace {

struct Scale : torch::nn::Module {
  Scale() { factor = register_parameter("factor", at::full({2, 1}, 3.0)); }
  at::Tensor factor;
};

TEST(ModuleLayer, RunsAModuleWithItsOwnWeightsOnly) {
  const auto module = std::make_shared<Scale>();
  const auto layer =
      make_module_layer({.name = "scale",
                         .module = module,
                         .forward = [raw = module.get()](const at::Tensor& x,
                                                         const LayerContext&) {
                           return x * raw->factor;
                         }});
  ASSERT_EQ(layer->parameters().size(), 1);
  EXPECT_EQ(layer->parameters()[0].name, "scale.factor");
  EXPECT_EQ(layer->parameters()[0].shape, (std::vector<std::int64_t>{2, 1}));
  EXPECT_FALSE(layer->splits_backward());
  EXPECT_FALSE(layer->supports_versions());

  const TensorBatch batch;
  const at::Tensor x = at::ones({2, 2});
  const at::Tensor y =
      layer->forward(x, layer->own_weights(), {.batch = batch});
  EXPECT_TRUE(y.equal(x * 3));
  EXPECT_THROW((void)layer->forward(x, std::vector{module->factor.clone()},
                                    {.batch = batch}),
               InternalError);
}

}  // namespace
}  // namespace chimera
