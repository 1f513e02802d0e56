#include "chimera/model/parameter_block.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace chimera {
namespace {

std::vector<ParameterSpec> specs() {
  return {{.name = "bias", .shape = {5}},
          {.name = "weight", .shape = {3, 7}, .decays = true},
          {.name = "norm", .shape = {2}},
          {.name = "other", .shape = {40}, .decays = true}};
}

at::Tensor numbered(const ParameterSpec& spec) {
  return at::arange(numel(spec), at::kFloat).view(spec.shape);
}

// Subtracts the gradient once, and a second time where weights decay.
class Subtract final : public Optimizer {
 public:
  std::vector<std::string> state_names() const override { return {"sum"}; }
  void update(const OptimizerSlice& slice) const override {
    slice.weights.sub_(slice.gradient, slice.decays ? 2 : 1);
    slice.states[0].add_(1);
  }
};

TEST(ParameterBlock, ParametersAreViewsOfOnePieceOfMemory) {
  ParameterBlock block(specs(), {}, {});
  const BlockValues values = block.make_values(numbered, {});
  const auto* begin = values.numbers.flat.const_data_ptr<float>();
  const auto* end = begin + values.numbers.flat.numel();
  for (std::size_t i = 0; i < specs().size(); ++i) {
    const at::Tensor& leaf = values.leaves[i];
    EXPECT_TRUE(at::equal(leaf.detach(), numbered(specs()[i])));
    EXPECT_GE(leaf.const_data_ptr<float>(), begin);
    EXPECT_LE(leaf.const_data_ptr<float>() + leaf.numel(), end);
    EXPECT_TRUE(leaf.requires_grad());
    EXPECT_TRUE(leaf.is_leaf());
  }
  EXPECT_EQ(block.gradient_to_sum(false).count,
            block.value_buffer(values).count);
  EXPECT_EQ(block.gradient_to_sum(false).count % kShardGrain, 0U);
}

TEST(ParameterBlock, BackwardsAddInPlaceAndStartAnewAfterAnUpdate) {
  ParameterBlock block(specs(), {}, {});
  const BlockValues values = block.make_values(numbered, {});
  const Subtract optimizer;
  for (int step = 0; step < 2; ++step) {
    for (int micro = 0; micro < 3; ++micro) {
      block.begin_gradient();
      (values.leaves[1].sum() * 2).backward();
    }
    const at::Tensor gradient = block.gradients()[1];
    EXPECT_TRUE(at::equal(gradient, at::full({3, 7}, 6.0F)));
    EXPECT_DOUBLE_EQ(block.squared_norm().item<double>(), 21 * 36);
    block.update({.optimizer = optimizer, .step = step}, values);
  }
  // Two updates by 6, doubled because the parameter decays.
  EXPECT_TRUE(at::equal(values.leaves[1].detach(), numbered(specs()[1]) - 24));
  EXPECT_TRUE(at::equal(values.leaves[0].detach(), numbered(specs()[0])));
  block.begin_gradient();
  EXPECT_EQ(block.squared_norm().item<double>(), 0);
}

TEST(ParameterBlock, ASkippedUpdateUsesTheGradientUp) {
  ParameterBlock block(specs(), {}, {});
  const BlockValues values = block.make_values(numbered, {});
  values.leaves[0].sum().backward();
  block.skip_update();
  block.begin_gradient();
  EXPECT_EQ(block.squared_norm().item<double>(), 0);
}

TEST(ParameterBlock, ACopyIsAVersionOfItsOwn) {
  ParameterBlock block(specs(), {}, {});
  const BlockValues old = block.make_values(numbered, {});
  const BlockValues copy = block.copy_values(old);
  copy.leaves[0].sum().backward();
  const Subtract optimizer;
  block.update({.optimizer = optimizer}, copy);
  EXPECT_TRUE(at::equal(old.leaves[0].detach(), numbered(specs()[0])));
  EXPECT_TRUE(at::equal(copy.leaves[0].detach(), numbered(specs()[0]) - 1));
}

// The norms of all shards add up to the norm of the whole, and updates by shard
// to the whole update.
TEST(ParameterBlock, ShardsAddUpToTheWhole) {
  constexpr int kHolders = 3;
  ParameterBlock whole(specs(), {}, {});
  const BlockValues expected = whole.make_values(numbered, {});
  const auto backward = [](const BlockValues& values) {
    for (const at::Tensor& leaf : values.leaves) leaf.square().sum().backward();
  };
  backward(expected);
  const Subtract optimizer;
  const ParameterBlock::Update update{
      .optimizer = optimizer, .gradient_scale = 0.5, .own_shard_only = true};
  const double norm = whole.squared_norm().item<double>();
  at::Tensor gathered = at::zeros_like(expected.numbers.flat);
  double sum = 0;
  for (int holder = 0; holder < kHolders; ++holder) {
    ParameterBlock block(specs(), {}, {holder, kHolders});
    const BlockValues values = block.make_values(numbered, {});
    backward(values);
    sum += block.squared_norm().item<double>();
    block.update(update, values);
    const Shard shard =
        shard_of(block.value_buffer(values).count, holder, kHolders);
    const auto begin = static_cast<std::int64_t>(shard.begin);
    const auto length = static_cast<std::int64_t>(shard.end) - begin;
    gathered.narrow(0, begin, length)
        .copy_(values.numbers.flat.narrow(0, begin, length));
  }
  EXPECT_DOUBLE_EQ(sum, norm);
  whole.update({.optimizer = optimizer, .gradient_scale = 0.5}, expected);
  EXPECT_TRUE(at::equal(gathered, expected.numbers.flat));
}

// Ensures that the next step's gradient starts from zero everywhere, whatever
// the sum left outside of a rank's shard.
TEST(ParameterBlock, AnUpdateOfAShardLeavesNoGradientBehind) {
  for (const bool only_shard : {false, true}) {
    ParameterBlock block(specs(), {}, {.index = 1, .holders = 2});
    const BlockValues values = block.make_values(numbered, {});
    for (const at::Tensor& leaf : values.leaves) leaf.sum().backward();
    const NumberBuffer sum = block.gradient_to_sum(only_shard);
    ASSERT_EQ(sum.only_shard, only_shard);
    const Shard own = shard_of(sum.count, 1, 2);
    if (only_shard) std::fill_n(static_cast<float*>(sum.data), own.begin, 0.F);
    const Subtract optimizer;
    block.update({.optimizer = optimizer, .own_shard_only = true}, values);
    block.begin_gradient();
    for (const at::Tensor& gradient : block.gradients()) {
      EXPECT_EQ(gradient.abs().sum().item<float>(), 0) << only_shard;
    }
  }
}

TEST(ParameterBlock, AnUpdateCanBeUndone) {
  const Subtract optimizer;
  for (const bool own_shard_only : {false, true}) {
    ParameterBlock block(specs(), {}, {.index = 1, .holders = 2});
    const BlockValues values = block.make_values(numbered, {});
    const auto backward = [&](double factor) {
      block.begin_gradient();
      (values.leaves[1].sum() * factor + values.leaves[3].sum()).backward();
    };
    const auto update = [&](double scale, bool can_be_undone) {
      block.update({.optimizer = optimizer,
                    .gradient_scale = scale,
                    .own_shard_only = own_shard_only,
                    .can_be_undone = can_be_undone},
                   values);
    };
    const auto state = [&] {
      std::vector<float> numbers;
      for (const StatePiece& piece : block.states_to_save(optimizer, {})) {
        const auto* first = static_cast<const float*>(piece.numbers.data);
        numbers.insert(numbers.end(), first, first + piece.numbers.count);
      }
      return numbers;
    };
    backward(3);
    update(1, true);
    EXPECT_EQ(block.updates(), 1);
    block.undo_update(values);
    EXPECT_EQ(block.updates(), 0);
    EXPECT_TRUE(state().empty());  // empty, as before any update
    for (std::size_t i = 0; i < specs().size(); ++i) {
      EXPECT_TRUE(at::equal(values.leaves[i].detach(), numbered(specs()[i])));
    }
    EXPECT_TRUE(at::equal(block.gradients()[1], at::full({3, 7}, 3.0F)));
    update(0.5, false);
    const at::Tensor after = values.numbers.flat.clone();
    const std::vector<float> states = state();
    backward(4);  // starts from zero
    EXPECT_TRUE(at::equal(block.gradients()[1], at::full({3, 7}, 4.0F)));
    update(1, true);
    EXPECT_FALSE(at::equal(values.numbers.flat, after));
    EXPECT_NE(state(), states);
    block.undo_update(values);
    EXPECT_TRUE(at::equal(values.numbers.flat, after));
    EXPECT_EQ(state(), states);
    EXPECT_TRUE(at::equal(block.gradients()[1], at::full({3, 7}, 4.0F)));
  }
}

// Layers get rounded weights where matrix products read them; gradients of the
// rounded weights are added up in float32.
TEST(ParameterBlock, EveryChangeRenewsTheRoundedCopy) {
  std::vector<ParameterSpec> rounded = specs();
  for (const std::size_t i : {1, 3}) rounded[i].in_products = true;
  const ParameterInit thirds = [](const ParameterSpec& spec) {
    return numbered(spec) / 3;
  };
  const Subtract optimizer;
  for (const bool own_shard_only : {false, true}) {
    ParameterBlock block(rounded, {.products = at::kBFloat16},
                         {.index = 1, .holders = 2});
    const BlockValues values = block.make_values(thirds, {});
    EXPECT_EQ(values.leaves[0].scalar_type(), at::kFloat);
    EXPECT_EQ(values.leaves[1].scalar_type(), at::kBFloat16);
    EXPECT_EQ(values.leaves[1].grad().scalar_type(), at::kFloat);
    const auto is_fresh = [&] {
      return at::equal(values.leaves[3].detach(),
                       values.masters[3].to(at::kBFloat16));
    };
    EXPECT_TRUE(is_fresh());
    const at::Tensor before = values.leaves[3].detach().clone();
    for (const at::Tensor& gradient : block.gradients()) gradient.fill_(1);
    block.update({.optimizer = optimizer,
                  .own_shard_only = own_shard_only,
                  .can_be_undone = true},
                 values);
    EXPECT_TRUE(is_fresh());
    EXPECT_FALSE(at::equal(values.leaves[3].detach(), before));
    block.undo_update(values);
    EXPECT_TRUE(at::equal(values.leaves[3].detach(), before));
    // Plays the arrival of the other holder's shard.
    values.numbers.flat.add_(1);
    EXPECT_FALSE(is_fresh());
    block.round_other_shards(values);
    EXPECT_TRUE(at::equal(values.leaves[1].detach(),
                          values.masters[1].to(at::kBFloat16)));
    const BlockValues copy = block.copy_values(values);
    EXPECT_TRUE(at::equal(copy.leaves[1].detach(), values.leaves[1].detach()));
    EXPECT_NE(copy.leaves[1].const_data_ptr(),
              values.leaves[1].const_data_ptr());
  }
}

}  // namespace
}  // namespace chimera
