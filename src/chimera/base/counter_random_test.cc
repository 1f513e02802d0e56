#include "chimera/base/counter_random.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace chimera {
namespace {

TEST(CounterRandom, DependsOnEveryWordAndOnTheUse) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t a = 0; a < 20; ++a) {
    for (std::uint64_t b = 0; b < 20; ++b) {
      for (const RandomUse use : {RandomUse::kDropout, RandomUse::kMasking}) {
        const CounterRandom random(use, {a, b});
        for (std::uint64_t element = 0; element < 20; ++element) {
          seen.insert(random.bits(element));
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), 20U * 20U * 2U * 20U);
}

// Chi-squared over 16 classes stays below its 1 - 1e-6 quantile (15 degrees of
// freedom: 56) for neighbouring elements and for neighbouring keys.
TEST(CounterRandom, IsUniformAlongElementsAndKeys) {
  constexpr int kClasses = 16;
  constexpr int kDraws = 160000;
  std::vector<double> elements(kClasses);
  std::vector<double> keys(kClasses);
  const CounterRandom one(RandomUse::kDropout, {1, 2, 3});
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    elements[one.below(i, kClasses)] += 1;
    keys[CounterRandom(RandomUse::kDropout, {1, i}).below(7, kClasses)] += 1;
  }
  for (const std::vector<double>& counts : {elements, keys}) {
    double chi_squared = 0;
    for (const double count : counts) {
      const double expected = static_cast<double>(kDraws) / kClasses;
      chi_squared += (count - expected) * (count - expected) / expected;
    }
    EXPECT_LT(chi_squared, 56);
  }
}

TEST(CounterRandom, UniformStaysInItsInterval) {
  const CounterRandom random(RandomUse::kInitialWeights, {});
  for (std::uint64_t i = 0; i < 10000; ++i) {
    EXPECT_GE(random.uniform(i), 0);
    EXPECT_LT(random.uniform(i), 1);
  }
}

TEST(CounterRandom, AStateIsAStream) {
  const CounterRandom random(RandomUse::kDropout, {1, 2, 3});
  const CounterRandom again(random.state());
  for (std::uint64_t element = 0; element < 20; ++element) {
    EXPECT_EQ(again.bits(element), random.bits(element));
  }
}

}  // namespace
}  // namespace chimera
