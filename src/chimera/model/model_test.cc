#include "chimera/model/model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "chimera/config/presets.h"
#include "chimera/model/model_test_support.h"

namespace chimera {
namespace {

std::int64_t count_of(const std::string& preset) {
  return parameter_count(make_model(default_details(*find_preset(preset), 0)));
}

TEST(ParameterCount, IsThePapersAndHuggingFaces) {
  EXPECT_EQ(count_of("bert-48"), 669'790'012);
  EXPECT_EQ(count_of("gpt2-64"), 1'389'327'360);
  EXPECT_EQ(count_of("gpt2-32"), 759'649'280);
  EXPECT_EQ(count_of("gpt2-small"), 124'439'808);
  EXPECT_EQ(count_of("bert-base"), 110'106'428);
  EXPECT_EQ(count_of("llama-1b"), 1'235'814'400);
  EXPECT_EQ(count_of("llama-8b"), 8'030'261'248);
}

TEST(Model, TiedParameterIsTheSameInBothLayers) {
  for (const ModelKind kind :
       {ModelKind::kGpt2, ModelKind::kBert, ModelKind::kLlama}) {
    const Model model = make_model(tiny_details(kind, true, 0));
    const ParameterSpec table = model.layers.front()->parameters().front();
    EXPECT_TRUE(table.tied);
    int found = 0;
    for (const ParameterSpec& spec : model.layers.back()->parameters()) {
      if (spec.tied) {
        ++found;
        EXPECT_EQ(spec, table);
      }
    }
    EXPECT_EQ(found, 1);
  }
}

TEST(Model, OnlyMatricesDecay) {
  for (const ModelKind kind :
       {ModelKind::kGpt2, ModelKind::kBert, ModelKind::kLlama}) {
    const Model model = make_model(tiny_details(kind, false, 0));
    for (const auto& layer : model.layers) {
      for (const ParameterSpec& spec : layer->parameters()) {
        const bool table = layer == model.layers.front();
        EXPECT_EQ(spec.decays, spec.shape.size() == 2 && !table) << spec.name;
      }
    }
  }
}

TEST(Model, HeadOfGpt2CostsItsVocabulary) {
  const std::vector<double> flops =
      forward_flops(make_model(default_details(*find_preset("gpt2-small"), 0)));
  ASSERT_EQ(flops.size(), 14);
  EXPECT_EQ(flops[13], 2.0 * 1024 * 768 * 50257);
  EXPECT_EQ(flops[1], 2.0 * 1024 * (12 * 768 * 768) + 4.0 * 1024 * 1024 * 768);
}

class EveryModel
    : public testing::TestWithParam<std::tuple<ModelKind, bool, double>> {
 protected:
  [[nodiscard]] static ModelDetails details() {
    const auto [kind, tied, rate] = GetParam();
    return tiny_details(kind, tied, rate);
  }
  const Batch batch = tiny_batch(details().shape, 4);
  const TargetCount total = count_targets(batch);
  const TensorBatch whole = to_tensors(batch, total);
};

INSTANTIATE_TEST_SUITE_P(All, EveryModel,
                         testing::Combine(testing::Values(ModelKind::kGpt2,
                                                          ModelKind::kBert,
                                                          ModelKind::kLlama),
                                          testing::Bool(),
                                          testing::Values(0.0, 0.1)));

TEST_P(EveryModel, InputThenWeightHalfEqualsWholeToTheBit) {
  OwnedModel at_once(details());
  OwnedModel split(details());
  WeightGradQueue queue;
  EXPECT_EQ(at_once.step(whole), split.step(whole, &queue));

  EXPECT_FALSE(queue.empty());
  for (const auto& [name, weight] : split.by_name) {
    const bool norm = name.find("LayerNorm") != std::string::npos ||
                      name.find("norm.") != std::string::npos ||
                      name.find(".ln_") != std::string::npos;
    EXPECT_EQ(weight.grad().abs().max().item<double>() > 0, norm) << name;
  }
  queue.run();
  EXPECT_TRUE(split.buffer.equal(at_once.buffer));
  for (const auto& [name, weight] : split.by_name) {
    if (name.find("key.bias") != std::string::npos) continue;  // always about 0
    EXPECT_GT(weight.grad().abs().max().item<double>(), 0) << name;
  }
}

TEST_P(EveryModel, MicroBatchesAddUpToTheWhole) {
  OwnedModel one(details());
  const double loss = one.step(whole);
  OwnedModel parts(details());
  const double sum = parts.step(slice(whole, 0, 1)) +
                     parts.step(slice(whole, 1, 2)) +
                     parts.step(slice(whole, 3, 1));
  EXPECT_NEAR(sum, loss, 1e-13 * loss);
  for (const auto& [name, weight] : one.by_name) {
    EXPECT_LT(parity(parts.by_name[name].grad(), weight.grad(), one.buffer), 1)
        << name;
  }
}

TEST_P(EveryModel, RecomputationGivesTheSameBits) {
  const OwnedModel owned(details());
  EXPECT_TRUE(
      owned.forward(whole, nullptr).equal(owned.forward(whole, nullptr)));
}

TEST_P(EveryModel, DropsOnlyInTraining) {
  const OwnedModel owned(details());
  const at::Tensor trained = owned.forward(whole, nullptr);
  const at::Tensor evaluated = owned.forward(whole, nullptr, false);
  EXPECT_EQ(trained.equal(evaluated), details().dropout == DropoutRates{});
}

TEST_P(EveryModel, RunsInFloat32) {
  const OwnedModel owned(details());
  at::Tensor x;
  for (std::size_t at = 0; at < owned.model.layers.size(); ++at) {
    std::vector<at::Tensor> weights;
    for (const at::Tensor& weight : owned.weights[at]) {
      weights.push_back(weight.detach().to(at::kFloat).requires_grad_());
    }
    x = owned.model.layers[at]->forward(
        x, weights,
        {.batch = whole, .seed = 3, .step = 4, .layer = static_cast<int>(at)});
  }
  EXPECT_EQ(x.scalar_type(), at::kFloat);
  const double loss = owned.forward(whole, nullptr).item<double>();
  EXPECT_NEAR(x.item<double>(), loss, 1e-5 * loss);
}

// In this micro-batch no token is masked.
TEST(Bert, MicroBatchWithoutTargets) {
  OwnedModel owned(tiny_details(ModelKind::kBert, true, 0));
  Batch batch = tiny_batch(owned.model.details.shape, 1);
  batch.targets.assign(batch.targets.size(), kIgnoredTarget);
  const double loss =
      owned.step(to_tensors(batch, {.tokens = 5, .samples = 2}));
  EXPECT_TRUE(std::isfinite(loss));
  EXPECT_TRUE(owned.buffer.isfinite().all().item<bool>());
  EXPECT_EQ(
      owned.by_name["cls.predictions.bias"].grad().abs().max().item<double>(),
      0);
}

}  // namespace
}  // namespace chimera
