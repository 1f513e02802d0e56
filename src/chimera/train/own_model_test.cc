#include "chimera/train/own_model.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/optim/adamw.h>

#include <map>
#include <mutex>
#include <set>

#include "chimera/train/linears_for_tests.h"
#include "chimera/train/train.h"
#include "chimera/train/verify.h"

namespace chimera {
namespace {

using testing::config_of;
using testing::Ids;
using testing::inputs;
using testing::kSteps;
using testing::Linears;
using testing::make_linears;
using testing::model_from;
using testing::setup_of;
using testing::squared_error;

// Trains on whole mini-batches of `batch` samples, in one thread, with torch's
// optimizer.
std::vector<double> train_plainly(Linears& linears, std::int64_t batch) {
  std::vector<at::Tensor> weights;
  for (torch::nn::Linear& linear : linears) {
    for (const at::Tensor& weight : linear->parameters()) {
      weights.push_back(weight);
    }
  }
  torch::optim::AdamW adam(weights, torch::optim::AdamWOptions(0.01));
  std::vector<double> losses;
  for (int step = 0; step < kSteps; ++step) {
    Ids ids;
    for (std::int64_t i = 0; i < batch; ++i) ids.push_back(step * batch + i);
    at::Tensor x = inputs(ids);
    for (torch::nn::Linear& linear : linears) x = linear->forward(x).tanh();
    const at::Tensor loss = squared_error(x, ids) / batch;
    losses.push_back(loss.item<double>());
    adam.zero_grad();
    loss.backward();
    adam.step();
  }
  return losses;
}

// Schemes with several holders of a stage (chimera, two copies), with several
// stages per worker (zb-v), and with one of each.
TEST(OwnModel, LearnsWhatPlainLibtorchLearns) {
  struct Case {
    const char* scheme;
    int width;
    bool recompute;
  };
  for (const auto& [scheme, width, recompute] :
       {Case{"chimera", 1, false}, Case{"chimera", 2, true},
        Case{"1f1b", 1, false}, Case{"zb-v", 2, false}}) {
    SCOPED_TRACE(scheme);
    RunConfig config = config_of(scheme);
    config.schedule.spec.width = width;
    config.schedule.recompute = recompute;
    const Linears linears = make_linears(8);
    const auto setup = setup_of(config, model_from(linears));
    std::vector<double> losses;
    StepObserver keep(
        [&](const StepReport& report) { losses.push_back(report.loss); });
    EXPECT_EQ(train(*setup, keep).steps, kSteps);

    Linears plain = make_linears(8);
    const std::vector<double> expected =
        train_plainly(plain, setup->global_batch());
    ASSERT_EQ(losses.size(), expected.size());
    for (int step = 0; step < kSteps; ++step) {
      EXPECT_NEAR(losses[step], expected[step], 1e-5);
    }
    for (std::size_t i = 0; i < linears.size(); ++i) {
      EXPECT_TRUE(at::allclose(linears[i]->weight, plain[i]->weight, 0, 1e-4));
      EXPECT_TRUE(at::allclose(linears[i]->bias, plain[i]->bias, 0, 1e-4));
    }
  }
}

void freeze(torch::nn::Linear& linear) {
  for (at::Tensor& weight : linear->parameters()) {
    weight.set_requires_grad(false);
  }
}

// Nothing is trained in the first stage or its replicas.
TEST(OwnModel, LayersMayBeFrozen) {
  for (const char* scheme : {"chimera", "1f1b", "zb-v"}) {
    SCOPED_TRACE(scheme);
    RunConfig config = config_of(scheme);
    config.schedule.spec.width = 2;
    config.train.shard_update = true;
    Linears linears = make_linears(8);
    Linears plain = make_linears(8);
    for (const int layer : {0, 1, 5}) {
      freeze(linears[layer]);
      freeze(plain[layer]);
    }
    const auto setup = setup_of(config, model_from(linears));
    EXPECT_EQ(train(*setup).steps, kSteps);
    (void)train_plainly(plain, setup->global_batch());
    for (std::size_t i = 0; i < linears.size(); ++i) {
      EXPECT_TRUE(at::allclose(linears[i]->weight, plain[i]->weight, 0, 1e-4));
    }
  }
}

// Samples whose ids differ from their numbers.
class Backwards final : public BatchSource {
 public:
  Batch read(std::int64_t step, std::int64_t first,
             std::int64_t count) const override {
    Batch batch{.samples = static_cast<int>(count)};
    for (std::int64_t i = 0; i < count; ++i) {
      batch.sample_ids.push_back(1000 - (step * 8 + first + i));
    }
    return batch;
  }
  TargetCount targets(std::int64_t) const override { return {8, 8}; }
  std::int64_t num_samples() const override { return 8; }
};

TEST(OwnModel, EveryStageSeesTheIdsOfItsSamples) {
  OwnModel own = model_from(make_linears(4));
  own.data = std::make_shared<Backwards>();
  std::mutex mutex;
  std::map<std::string, std::set<std::int64_t>> seen;  // by layer
  for (std::unique_ptr<Layer>& layer : own.layers) {
    const std::string name = layer->name();
    layer = make_module_layer(
        name, torch::nn::Linear(3, 3).ptr(),
        [&, name](torch::nn::LinearImpl& linear, const at::Tensor& x,
                  const LayerContext& context) {
          const Ids& ids = context.batch.sample_ids;
          {
            const std::scoped_lock lock(mutex);
            seen[name].insert(ids.begin(), ids.end());
          }
          const at::Tensor y =
              linear.forward(name == "layer0" ? inputs(ids) : x);
          return name == "layer3" ? squared_error(y, ids) : y;
        });
  }
  RunConfig config = config_of("1f1b");
  config.train.steps = 1;
  (void)train(*setup_of(config, std::move(own)));
  std::set<std::int64_t> ids;
  for (int i = 0; i < 8; ++i) ids.insert(1000 - i);
  ASSERT_EQ(seen.size(), 4U);
  for (const auto& [layer, found] : seen) EXPECT_EQ(found, ids) << layer;
}

TEST(OwnModel, VerifiesLikeAnyOther) {
  const Linears linears = make_linears(8);
  const at::Tensor before = linears[3]->weight.detach().clone();
  const auto setup = setup_of(config_of("chimera"), model_from(linears));
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    const VerifyReport report = verify(*setup, {.dtype = dtype});
    EXPECT_TRUE(report.passes());
    EXPECT_EQ(report.checks.size(), 3 * 16);
  }
  EXPECT_TRUE(linears[3]->weight.equal(before));
}

TEST(OwnModel, TrainingGoesOnWhereItEnded) {
  const Linears linears = make_linears(4);
  const auto setup = setup_of(config_of("chimera"), model_from(linears));
  double first = 0;
  double last = 0;
  for (int round = 0; round < 20; ++round) {
    StepObserver keep([&](const StepReport& report) {
      if (round == 0 && report.step == 1) first = report.loss;
      last = report.loss;
    });
    (void)train(*setup, keep);
  }
  EXPECT_LT(last, first / 2);
}

std::string code_of(const RunConfig& config, OwnModel own) {
  const auto setup = set_up(config, {}, std::move(own));
  return setup ? "none" : setup.errors()[0].code;
}

TEST(OwnModel, EveryMistakeIsSaid) {
  const auto model = [](int layers = 8) {
    return model_from(make_linears(layers));
  };
  EXPECT_EQ(code_of(config_of("chimera"), model()), "none");
  EXPECT_EQ(code_of(config_of("pipedream"), model()), "E561");
  EXPECT_EQ(code_of(config_of("chimera"), model(3)), "E550");
  EXPECT_EQ(code_of(config_of("chimera"), {}), "E550");

  OwnModel twice = model(1);
  twice.layers.push_back(std::move(model(1).layers[0]));
  twice.layers.push_back(std::move(model(4).layers[2]));
  twice.layers.push_back(std::move(model(4).layers[3]));
  EXPECT_EQ(code_of(config_of("chimera"), std::move(twice)), "E568");

  RunConfig config = config_of("chimera");
  config.schedule.micro_batch = 0;
  EXPECT_EQ(code_of(config, model()), "E008");
  config = config_of("chimera");
  config.schedule.spec.width = 0;
  EXPECT_EQ(code_of(config, model()), "E008");
  config = config_of("chimera");
  config.train.steps.reset();
  EXPECT_EQ(code_of(config, model()), "E020");
}

TEST(NumberedSamples, CountOnFromStepToStep) {
  const auto source = numbered_samples(10);
  EXPECT_EQ(source->read(3, 4, 2).sample_ids, (Ids{34, 35}));
  EXPECT_EQ(source->targets(3).samples, 10);
}

}  // namespace
}  // namespace chimera
