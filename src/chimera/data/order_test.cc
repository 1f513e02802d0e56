#include "chimera/data/order.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

namespace chimera {
namespace {

std::vector<std::int64_t> epoch_of(const OrderOptions& options,
                                   std::int64_t epoch) {
  std::vector<std::int64_t> samples;
  for (std::int64_t i = 0; i < options.num_samples; ++i) {
    const std::int64_t number = epoch * options.num_samples + i;
    const Draw draw = draw_of(number, options);
    EXPECT_EQ(draw.number, number);
    EXPECT_EQ(draw.epoch, epoch);
    samples.push_back(draw.sample);
  }
  return samples;
}

std::vector<std::int64_t> counted(std::int64_t size) {
  std::vector<std::int64_t> numbers(static_cast<size_t>(size));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

std::vector<std::int64_t> sorted(std::vector<std::int64_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

TEST(Order, SequentialIsTheFile) {
  const OrderOptions options{.order = SampleOrder::kSequential,
                             .num_samples = 3};
  EXPECT_EQ(epoch_of(options, 0), counted(3));
  EXPECT_EQ(epoch_of(options, 7), counted(3));
}

TEST(Order, EverySmallSizeIsPermuted) {
  for (std::int64_t size = 1; size <= 300; ++size) {
    const OrderOptions options{.seed = 5, .num_samples = size};
    EXPECT_EQ(sorted(epoch_of(options, 2)), counted(size)) << size;
  }
}

RC_GTEST_PROP(Order, AnEpochIsAPermutation, ()) {
  const OrderOptions options{
      .seed = *rc::gen::arbitrary<std::int64_t>(),
      .num_samples = *rc::gen::inRange<std::int64_t>(1, 20000)};
  const auto epoch = *rc::gen::inRange<std::int64_t>(0, 1000000);
  RC_ASSERT(sorted(epoch_of(options, epoch)) == counted(options.num_samples));
}

TEST(Order, EpochsAndSeedsDiffer) {
  std::set<std::vector<std::int64_t>> orders;
  for (std::int64_t seed = 0; seed < 20; ++seed) {
    for (std::int64_t epoch = 0; epoch < 20; ++epoch) {
      orders.insert(epoch_of({.seed = seed, .num_samples = 40}, epoch));
    }
  }
  EXPECT_EQ(orders.size(), 400U);
}

// The first, a middle and the last place, and the successor of sample 0, are
// evenly distributed over all samples: chi-squared is below its 1 - 1e-6
// quantile.
TEST(Order, EverySampleIsEquallyLikelyAnywhere) {
  constexpr std::int64_t kEpochs = 20000;
  for (const auto& [size, quantile] :
       {std::pair{2, 24.0}, {3, 28.0}, {5, 34.0}, {11, 49.0}, {17, 60.0}}) {
    const auto width = static_cast<size_t>(size);
    std::vector<std::vector<double>> counts(4, std::vector<double>(width));
    for (std::int64_t epoch = 0; epoch < kEpochs; ++epoch) {
      const auto order = epoch_of({.seed = 1, .num_samples = size}, epoch);
      counts[0][static_cast<size_t>(order[0])] += 1;
      counts[1][static_cast<size_t>(order[width / 2])] += 1;
      counts[2][static_cast<size_t>(order[width - 1])] += 1;
      const auto zero = std::find(order.begin(), order.end(), 0);
      const auto next = (zero - order.begin() + 1) % size;
      counts[3][static_cast<size_t>(order[static_cast<size_t>(next)])] += 1;
    }
    for (size_t row = 0; row < counts.size(); ++row) {
      const double classes = row == 3 ? size - 1 : size;
      const double expected = static_cast<double>(kEpochs) / classes;
      double chi_squared = 0;
      for (size_t i = row == 3 ? 1 : 0; i < width; ++i) {
        const double off = counts[row][i] - expected;
        chi_squared += off * off / expected;
      }
      EXPECT_LT(chi_squared, quantile) << size << ", row " << row;
    }
  }
}

TEST(Order, TakesSizesBeyond32Bits) {
  const OrderOptions options{.seed = 1, .num_samples = 5'000'000'000};
  std::set<std::int64_t> seen;
  for (std::int64_t number = 0; number < 10000; ++number) {
    const Draw draw = draw_of(number, options);
    EXPECT_GE(draw.sample, 0);
    EXPECT_LT(draw.sample, options.num_samples);
    seen.insert(draw.sample);
  }
  EXPECT_EQ(seen.size(), 10000U);
  EXPECT_GT(*seen.rbegin(), options.num_samples / 2);
}

}  // namespace
}  // namespace chimera
