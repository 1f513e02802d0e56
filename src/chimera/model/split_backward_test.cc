#include "chimera/model/split_backward.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <thread>
#include <vector>

namespace chimera {
namespace {

at::Tensor random(std::vector<std::int64_t> sizes) {
  return at::randn(sizes, at::kDouble);
}

// A leaf whose .grad is preset to ones in the middle of a flat buffer, as the
// owner of the weights presets it.
struct Leaf {
  explicit Leaf(const at::Tensor& value)
      : tensor(value.clone().requires_grad_()),
        buffer(at::ones({value.numel() + 2}, value.options())) {
    tensor.mutable_grad() =
        buffer.narrow(0, 1, value.numel()).view(value.sizes());
  }
  // Returns what was added to the leaf's gradient, and checks that its
  // neighbours in the buffer are unchanged.
  at::Tensor added() const {
    EXPECT_EQ(buffer[0].item<double>(), 1);
    EXPECT_EQ(buffer[-1].item<double>(), 1);
    return buffer.narrow(0, 1, tensor.numel()).view(tensor.sizes()) - 1;
  }
  at::Tensor tensor;
  at::Tensor buffer;
};

void backward(const at::Tensor& y, const at::Tensor& grad) {
  torch::autograd::backward({y}, {grad});
}

struct LinearCase {
  at::Tensor x = random({2, 3, 4});
  at::Tensor weight = random({4, 5});
  at::Tensor bias = random({5});
  at::Tensor grad = random({2, 3, 5});
};

class SplitLinearTest : public testing::TestWithParam<WeightLayout> {
 protected:
  at::Tensor in_layout(const at::Tensor& in_out) const {
    return GetParam() == WeightLayout::kInOut ? in_out
                                              : in_out.t().contiguous();
  }
};

INSTANTIATE_TEST_SUITE_P(Layouts, SplitLinearTest,
                         testing::Values(WeightLayout::kInOut,
                                         WeightLayout::kOutIn));

TEST_P(SplitLinearTest, EqualsPlainAutograd) {
  const LinearCase given;
  const Leaf weight(in_layout(given.weight));
  const Leaf bias(given.bias);
  const at::Tensor x = given.x.clone().requires_grad_();
  const at::Tensor y =
      split_linear(x, {weight.tensor, bias.tensor, GetParam()}, nullptr);
  backward(y, given.grad);

  const at::Tensor plain_x = given.x.clone().requires_grad_();
  const at::Tensor plain_w = given.weight.clone().requires_grad_();
  const at::Tensor plain_b = given.bias.clone().requires_grad_();
  const at::Tensor plain_y = at::matmul(plain_x, plain_w) + plain_b;
  backward(plain_y, given.grad);

  EXPECT_TRUE(at::allclose(y, plain_y, 1e-13, 1e-13));
  EXPECT_TRUE(at::allclose(x.grad(), plain_x.grad(), 1e-13, 1e-13));
  EXPECT_TRUE(
      at::allclose(weight.added(), in_layout(plain_w.grad()), 1e-12, 1e-12));
  EXPECT_TRUE(at::allclose(bias.added(), plain_b.grad(), 1e-12, 1e-12));
}

TEST_P(SplitLinearTest, InputThenWeightHalfEqualsWholeToTheBit) {
  const LinearCase given;
  const Leaf weights[] = {Leaf(in_layout(given.weight)),
                          Leaf(in_layout(given.weight))};
  const Leaf biases[] = {Leaf(given.bias), Leaf(given.bias)};
  at::Tensor grads[2];
  WeightGradQueue queue;
  for (int split = 0; split < 2; ++split) {
    const at::Tensor x = given.x.clone().requires_grad_();
    backward(split_linear(
                 x, {weights[split].tensor, biases[split].tensor, GetParam()},
                 split == 1 ? &queue : nullptr),
             given.grad);
    grads[split] = x.grad();
  }
  EXPECT_EQ(queue.size(), 1);
  EXPECT_EQ(weights[1].added().abs().max().item<double>(), 0);
  EXPECT_EQ(biases[1].added().abs().max().item<double>(), 0);
  EXPECT_TRUE(grads[0].equal(grads[1]));

  queue.run();
  EXPECT_TRUE(queue.empty());
  EXPECT_TRUE(weights[0].buffer.equal(weights[1].buffer));
  EXPECT_TRUE(biases[0].buffer.equal(biases[1].buffer));
  EXPECT_FALSE(weights[1].tensor.grad().requires_grad());
}

TEST_P(SplitLinearTest, MakesMissingGradientsAndNeedsNoBias) {
  const LinearCase given;
  const at::Tensor weight = in_layout(given.weight).requires_grad_();
  backward(split_linear(given.x, {weight, {}, GetParam()}, nullptr),
           given.grad);
  const at::Tensor expected =
      at::mm(given.x.view({6, 4}).t(), given.grad.view({6, 5}));
  EXPECT_TRUE(at::allclose(weight.grad(), in_layout(expected), 1e-13, 1e-13));
}

TEST_P(SplitLinearTest, TakesNoRowsAtAll) {
  const LinearCase given;
  const Leaf weight(in_layout(given.weight));
  const Leaf bias(given.bias);
  const at::Tensor x = random({0, 4}).requires_grad_();
  backward(split_linear(x, {weight.tensor, bias.tensor, GetParam()}, nullptr),
           random({0, 5}));
  EXPECT_EQ(weight.added().abs().max().item<double>(), 0);
  EXPECT_EQ(x.grad().sizes(), x.sizes());
}

// BERT's pooler reads one row of each sample.
TEST(SplitLinear, AFewRowsDoNotKeepTheirTensorUntilW) {
  const Leaf weight(random({4, 4}));
  at::Tensor all = random({2, 8, 4}).requires_grad_();
  const c10::weak_intrusive_ptr<c10::StorageImpl> storage(
      c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(
          all.storage().unsafeGetStorageImpl()));
  WeightGradQueue queue;
  {
    const at::Tensor first = all.select(1, 0);
    backward(split_linear(first, {.weight = weight.tensor, .bias = {}}, &queue),
             at::ones({2, 4}, at::kDouble));
  }
  const at::Tensor expected =
      at::ones({4, 2}, at::kDouble).mm(all.detach().select(1, 0));
  all.reset();
  EXPECT_TRUE(storage.expired());
  queue.run();
  EXPECT_TRUE(at::allclose(weight.added(), expected));
}

TEST(SplitEmbedding, AddsRowsInPlaceNowOrLater) {
  const at::Tensor table = random({7, 3});
  const at::Tensor indices = at::tensor({1, 5, 1, 0, 6, 1}, at::kLong);
  const at::Tensor grad = random({2, 3, 3});
  const at::Tensor plain = table.clone().requires_grad_();
  backward(at::embedding(plain, indices.view({2, 3})), grad);

  WeightGradQueue queue;
  for (WeightGradQueue* deferred :
       {static_cast<WeightGradQueue*>(nullptr), &queue}) {
    const Leaf leaf(table);
    const at::Tensor y =
        split_embedding(indices.view({2, 3}), {leaf.tensor}, deferred);
    EXPECT_TRUE(y.equal(at::embedding(table, indices.view({2, 3}))));
    backward(y, grad);
    if (deferred != nullptr) {
      EXPECT_EQ(leaf.added().abs().max().item<double>(), 0);
      deferred->run();
    }
    EXPECT_TRUE(at::allclose(leaf.added(), plain.grad(), 1e-12, 1e-12));
  }
}

TEST(SplitEmbedding, PaddingRowGetsNoGradient) {
  const Leaf leaf(random({4, 3}));
  const at::Tensor indices = at::tensor({0, 2, 0}, at::kLong);
  backward(split_embedding(indices, {leaf.tensor, 0}, nullptr),
           at::ones({3, 3}, at::kDouble));
  EXPECT_TRUE(
      leaf.added().sum(1).equal(at::tensor({0., 0., 3., 0.}, at::kDouble)));
}

// The gradient of a layer norm's weights is added by autograd itself, which
// must not replace the preset view.
TEST(PlainLeaf, AutogradAddsIntoThePresetGradient) {
  const Leaf weight(random({4}));
  const void* data = weight.tensor.grad().const_data_ptr();
  const at::Tensor x = random({5, 4});
  for (int micro = 0; micro < 2; ++micro) {
    backward(at::layer_norm(x, {4}, weight.tensor, {}, 1e-5),
             at::ones({5, 4}, at::kDouble));
  }
  EXPECT_EQ(weight.tensor.grad().const_data_ptr(), data);
  const at::Tensor normal = at::layer_norm(x, {4}, {}, {}, 1e-5);
  EXPECT_TRUE(at::allclose(weight.added(), normal.sum(0) * 2, 1e-12, 1e-12));
}

TEST(SplitLinear, StagesRunBackwardAtTheSameTime) {
  const LinearCase given;
  std::vector<at::Tensor> grads(4);
  std::vector<std::thread> threads;
  for (at::Tensor& result : grads) {
    threads.emplace_back([&] {
      const Leaf weight(given.weight);
      for (int micro = 0; micro < 50; ++micro) {
        const at::Tensor x = given.x.clone().requires_grad_();
        backward(
            split_linear(x, {weight.tensor, {}, WeightLayout::kInOut}, nullptr),
            given.grad);
      }
      result = weight.added();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const at::Tensor& result : grads) EXPECT_TRUE(result.equal(grads[0]));
}

}  // namespace
}  // namespace chimera
