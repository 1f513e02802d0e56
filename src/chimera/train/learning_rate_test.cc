#include "chimera/train/learning_rate.h"

#include <gtest/gtest.h>

namespace chimera {
namespace {

TrainConfig train_config(LrDecay decay) {
  TrainConfig train;
  train.steps = 100;
  train.lr = 1.0;
  train.min_lr = 0.1;
  train.warmup = 20;
  train.decay = decay;
  return train;
}

TEST(LearningRate, WarmsUpToTheRateInAsManySteps) {
  for (const LrDecay decay :
       {LrDecay::kConstant, LrDecay::kLinear, LrDecay::kCosine}) {
    const TrainConfig train = train_config(decay);
    EXPECT_DOUBLE_EQ(learning_rate(train, 0), 1.0 / 20);
    EXPECT_DOUBLE_EQ(learning_rate(train, 19), 1.0);
    EXPECT_DOUBLE_EQ(learning_rate(train, 20), 1.0);
  }
}

TEST(LearningRate, DecaysOverTheStepsThatAreLeft) {
  EXPECT_DOUBLE_EQ(learning_rate(train_config(LrDecay::kConstant), 99), 1.0);
  // Halfway between lr and min_lr.
  EXPECT_DOUBLE_EQ(learning_rate(train_config(LrDecay::kLinear), 60), 0.55);
  EXPECT_DOUBLE_EQ(learning_rate(train_config(LrDecay::kCosine), 60), 0.55);
  EXPECT_DOUBLE_EQ(learning_rate(train_config(LrDecay::kLinear), 100), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate(train_config(LrDecay::kCosine), 100), 0.1);
}

TEST(LearningRate, WithoutWarmUpTheFirstStepHasTheRate) {
  TrainConfig train = train_config(LrDecay::kLinear);
  train.warmup = 0;
  EXPECT_DOUBLE_EQ(learning_rate(train, 0), 1.0);
}

}  // namespace
}  // namespace chimera
