#include "chimera/model/dropout.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

namespace chimera {
namespace {

TensorBatch samples(std::vector<std::int64_t> ids) {
  return {.sample_ids = std::move(ids)};
}

at::Tensor mask(const TensorBatch& batch, std::vector<std::int64_t> sizes,
                const Dropout& options, const LayerContext& context) {
  sizes.insert(sizes.begin(),
               static_cast<std::int64_t>(batch.sample_ids.size()));
  return dropout(at::ones(sizes, at::kDouble), options, context);
}

TEST(Dropout, DropsAtTheRateAndKeepsTheMean) {
  const TensorBatch batch = samples({1, 2, 3, 4});
  for (const double rate : {0.1, 0.5}) {
    const at::Tensor y =
        mask(batch, {250'000}, {.rate = rate}, {.batch = batch});
    const double dropped = y.eq(0).to(at::kDouble).mean().item<double>();
    const double sigma = std::sqrt(rate * (1 - rate) / 1e6);
    EXPECT_NEAR(dropped, rate, 5 * sigma);
    EXPECT_NEAR(y.max().item<double>(), 1 / (1 - rate), 1e-15);
    // Neighbouring elements are dropped independently.
    const at::Tensor zero = y.eq(0).to(at::kDouble);
    const at::Tensor both =
        zero.narrow(1, 0, 249'999) * zero.narrow(1, 1, 249'999);
    EXPECT_NEAR(both.mean().item<double>(), rate * rate, 5 * rate / 1e3);
  }
}

TEST(Dropout, MasksFollowSamplesNotMicroBatches) {
  const TensorBatch whole = samples({5, 6, 7});
  const TensorBatch last = samples({7});
  const Dropout options{.rate = 0.3};
  // Odd sizes that span several blocks.
  const at::Tensor all = mask(whole, {3, 5001}, options, {.batch = whole});
  const at::Tensor one = mask(last, {3, 5001}, options, {.batch = last});
  EXPECT_TRUE(all[2].equal(one[0]));
  EXPECT_FALSE(all[1].equal(one[0]));
}

TEST(Dropout, EveryKeyWordMatters) {
  const TensorBatch batch = samples({5});
  const auto draw = [&](std::int64_t seed, std::int64_t step, int layer,
                        int site) {
    return mask(batch, {200}, {.rate = 0.5, .site = site},
                {.batch = batch, .seed = seed, .step = step, .layer = layer});
  };
  const at::Tensor first = draw(0, 0, 0, 0);
  EXPECT_TRUE(first.equal(draw(0, 0, 0, 0)));
  EXPECT_FALSE(first.equal(draw(1, 0, 0, 0)));
  EXPECT_FALSE(first.equal(draw(0, 1, 0, 0)));
  EXPECT_FALSE(first.equal(draw(0, 0, 1, 0)));
  EXPECT_FALSE(first.equal(draw(0, 0, 0, 1)));
}

TEST(Dropout, BackwardDrawsTheSameMask) {
  const TensorBatch batch = samples({1, 2});
  const at::Tensor x = at::ones({2, 64, 3}, at::kFloat).requires_grad_();
  const at::Tensor y = dropout(x, {.rate = 0.4}, {.batch = batch});
  torch::autograd::backward({y}, {at::ones_like(y)});
  EXPECT_TRUE(x.grad().equal(y.detach()));
}

TEST(Dropout, DoesNotDependOnThreads) {
  const TensorBatch batch = samples({1, 2});
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const at::Tensor one =
      mask(batch, {100'000}, {.rate = 0.4}, {.batch = batch});
  at::set_num_threads(2);
  const at::Tensor two =
      mask(batch, {100'000}, {.rate = 0.4}, {.batch = batch});
  at::set_num_threads(before);
  EXPECT_TRUE(one.equal(two));
}

}  // namespace
}  // namespace chimera
