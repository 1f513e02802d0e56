#include "chimera/model/generate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "chimera/model/model_test_support.h"

namespace chimera {
namespace {

WholeModel lively_model(const ModelDetails& details) {
  return {make_model(details), lively};
}

ModelDetails small_details(ModelKind kind, int positions) {
  ModelDetails details = tiny_details(kind, true, 0);
  details.shape.seq = details.shape.positions = positions;
  return details;
}

std::vector<std::int64_t> text_of(const WholeModel& model,
                                  const GenerateOptions& options) {
  std::vector<std::int64_t> text;
  generate(model, {1, 2, 3}, options, [&](std::int64_t token) {
    text.push_back(token);
    return true;
  });
  return text;
}

class Generate : public testing::TestWithParam<ModelKind> {};
INSTANTIATE_TEST_SUITE_P(All, Generate,
                         testing::Values(ModelKind::kGpt2, ModelKind::kLlama));

TEST_P(Generate, TheCacheChangesNoToken) {
  const WholeModel model = lively_model(small_details(GetParam(), 40));
  for (const double temperature : {0.0, 1.0}) {
    GenerateOptions options{.tokens = 30,
                            .choice = {.temperature = temperature, .seed = 4}};
    const auto cached = text_of(model, options);
    EXPECT_EQ(cached.size(), 30);
    options.use_cache = false;
    EXPECT_EQ(text_of(model, options), cached);
  }
}

TEST_P(Generate, TheSeedDecides) {
  const WholeModel model = lively_model(small_details(GetParam(), 40));
  const auto seeded = [&](std::uint64_t seed) {
    return text_of(model,
                   {.tokens = 30, .choice = {.temperature = 1, .seed = seed}});
  };
  EXPECT_EQ(seeded(1), seeded(1));
  EXPECT_NE(seeded(1), seeded(2));
}

// Includes a prompt that is longer than the context.
TEST_P(Generate, GoesOnWhenTheContextIsFull) {
  for (const int positions : {1, 2, 5}) {
    const WholeModel model = lively_model(small_details(GetParam(), positions));
    EXPECT_EQ(text_of(model, {.tokens = 20}).size(), 20);
  }
}

TEST(Generation, EndsWhereItIsTold) {
  const WholeModel model = lively_model(small_details(ModelKind::kGpt2, 40));
  int count = 0;
  generate(model, {1}, {.tokens = 30},
           [&](std::int64_t) { return ++count < 7; });
  EXPECT_EQ(count, 7);
}

TEST(ChooseToken, DrawsByProbability) {
  const at::Tensor logits = at::tensor({0.0, 1.0, 2.0, -1.0}).log_softmax(0);
  std::vector<int> counts(4);
  constexpr int kDraws = 20000;
  for (int index = 0; index < kDraws; ++index) {
    ++counts[choose_token(logits, {.temperature = 1, .seed = 9}, index)];
  }
  for (int token = 0; token < 4; ++token) {
    const double expected = kDraws * logits.exp()[token].item<double>();
    EXPECT_NEAR(counts[token], expected, 4 * std::sqrt(expected)) << token;
  }
}

TEST(ChooseToken, KeepsTheMostProbable) {
  // Probabilities 0.1, 0.4, 0.3, 0.2.
  const at::Tensor logits = at::tensor({0.1, 0.4, 0.3, 0.2}).log();
  const auto drawn = [&](TokenChoice choice) {
    std::string tokens;
    choice.temperature = 1;
    for (int index = 0; index < 200; ++index) {
      const auto token = std::to_string(choose_token(logits, choice, index));
      if (tokens.find(token) == std::string::npos) tokens += token;
    }
    std::sort(tokens.begin(), tokens.end());
    return tokens;
  };
  EXPECT_EQ(drawn({}), "0123");
  EXPECT_EQ(drawn({.top_k = 2}), "12");
  EXPECT_EQ(drawn({.top_p = 0.35}), "1");
  EXPECT_EQ(drawn({.top_p = 0.6}), "12");
  EXPECT_EQ(drawn({.top_p = 0.85}), "123");
  EXPECT_EQ(drawn({.top_k = 3, .top_p = 0.5}), "12");
  EXPECT_EQ(choose_token(logits, {.temperature = 0}, 0), 1);
}

}  // namespace
}  // namespace chimera
