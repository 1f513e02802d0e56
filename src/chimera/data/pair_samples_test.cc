// Tests BERT's pairs and masks, from files and by their statistics.
#include "chimera/data/pair_samples.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "chimera/data/files_for_tests.h"
#include "chimera/data/special_ids.h"

namespace chimera {
namespace {

constexpr SpecialIds kIds{.cls = 1, .sep = 2, .mask = 3};

// 300 samples of seq = 32 (29 tokens each), in which neighbouring tokens
// differ.
DataOptions many_pairs() {
  std::vector<int> ids(300 * 29 + 5);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int>(i) + 1000;
  return {.paths = {make_file("pairs.bin", as_bin(ids))},
          .kind = ModelKind::kBert,
          .order = SampleOrder::kSequential,
          .seq = 32,
          .vocab = 20000,
          .global_batch = 300,
          .seed = 3};
}

// The tokens before masking, including special ones.
std::vector<std::int64_t> unmasked(const Batch& batch) {
  std::vector<std::int64_t> tokens = batch.inputs;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (batch.targets[i] != kIgnoredTarget) tokens[i] = batch.targets[i];
  }
  return tokens;
}

// Expects `count` within five standard deviations of a binomial distribution.
void expect_share(std::int64_t count, std::int64_t of, double share) {
  const auto n = static_cast<double>(of);
  EXPECT_NEAR(static_cast<double>(count), n * share,
              5 * std::sqrt(n * share * (1 - share)));
}

TEST(PairSamples, LaysOutEveryPair) {
  const DataOptions options = many_pairs();
  const auto source = opened(options);
  ASSERT_EQ(source->num_samples(), 300);
  const Batch batch = source->read(0, 0, 300);
  const auto tokens = unmasked(batch);
  std::set<std::int64_t> sources_of_b;
  for (std::int64_t sample = 0; sample < 300; ++sample) {
    const auto row = static_cast<size_t>(sample) * 32;
    const std::int64_t first = 1000 + sample * 29;
    EXPECT_EQ(tokens[row], 101);
    EXPECT_EQ(tokens[row + 15], 102);
    EXPECT_EQ(tokens[row + 31], 102);
    for (size_t i = 0; i < 14; ++i) {
      EXPECT_EQ(tokens[row + 1 + i], first + static_cast<std::int64_t>(i));
    }
    const std::int64_t b = tokens[row + 16];
    for (size_t i = 0; i < 15; ++i) {
      EXPECT_EQ(tokens[row + 16 + i], b + static_cast<std::int64_t>(i));
    }
    const bool follows = b == first + 14;
    EXPECT_EQ(batch.next_sentence[static_cast<size_t>(sample)],
              follows ? 0 : 1);
    EXPECT_EQ((b - 1000 - 14) % 29, 0);
    if (!follows) sources_of_b.insert((b - 1000 - 14) / 29);
    for (size_t i = 0; i < 32; ++i) {
      EXPECT_EQ(batch.token_types[row + i], i < 16 ? 0 : 1);
    }
  }
  EXPECT_GT(sources_of_b.size(), 80U);
}

TEST(PairSamples, HalfOfThePairsAreNotNextAndChangeByEpoch) {
  const auto source = opened(many_pairs());
  std::int64_t not_next = 0;
  std::set<std::vector<std::int64_t>> epochs;
  for (std::int64_t epoch = 0; epoch < 30; ++epoch) {
    const Batch batch = source->read(epoch, 0, 300);
    not_next +=
        std::count(batch.next_sentence.begin(), batch.next_sentence.end(), 1);
    epochs.insert(batch.next_sentence);
    epochs.insert(batch.targets);
  }
  expect_share(not_next, 300 * 30, 0.5);
  EXPECT_EQ(epochs.size(), 60U);
}

// With two samples, a wrong B must come from the other one.
TEST(PairSamples, AWrongBIsNeverTheSamplesOwn) {
  const auto source = opened({.paths = {make_file("a.txt", "abcdABCD")},
                              .kind = ModelKind::kBert,
                              .order = SampleOrder::kSequential,
                              .seq = 7,
                              .vocab = 256,
                              .global_batch = 2});
  std::int64_t not_next = 0;
  for (std::int64_t epoch = 0; epoch < 2000; ++epoch) {
    const Batch batch = source->read(epoch, 0, 2);
    const auto tokens = unmasked(batch);
    EXPECT_EQ(tokens[4], batch.next_sentence[0] == 0 ? 'c' : 'C');
    EXPECT_EQ(tokens[11], batch.next_sentence[1] == 0 ? 'C' : 'c');
    not_next += batch.next_sentence[0] + batch.next_sentence[1];
  }
  expect_share(not_next, 4000, 0.5);
}

TEST(PairSamples, MasksInTheRightShares) {
  const auto source = opened(many_pairs());
  std::int64_t masked = 0;
  std::int64_t as_mask = 0;
  std::int64_t kept = 0;
  std::int64_t low = 0;  // random ids smaller than any id in the file
  for (std::int64_t step = 0; step < 30; ++step) {
    const Batch batch = source->read(step, 0, 300);
    for (size_t i = 0; i < batch.inputs.size(); ++i) {
      const bool special = i % 32 == 0 || i % 32 == 15 || i % 32 == 31;
      if (special) {
        EXPECT_EQ(batch.targets[i], kIgnoredTarget);
      }
      if (batch.targets[i] == kIgnoredTarget) continue;
      ++masked;
      if (batch.inputs[i] == 103) ++as_mask;
      if (batch.inputs[i] == batch.targets[i]) ++kept;
      if (batch.inputs[i] != 103 && batch.inputs[i] < 1000) ++low;
    }
  }
  // A sample without any masked position gets one by force. Only 0.85^29 of the
  // samples are affected, far less than the bounds below allow.
  expect_share(masked, 30 * 300 * 29, 0.15);
  expect_share(as_mask, masked, 0.8);
  expect_share(kept, masked, 0.1);
  expect_share(low, masked, 0.1 * 1000 / 20000);
}

RC_GTEST_PROP(Masking, ASampleAlwaysHasATarget, ()) {
  const PairLayout layout{.length_a = *rc::gen::inRange(1, 6),
                          .length_b = *rc::gen::inRange(1, 6)};
  const Masking masking({.seed = *rc::gen::arbitrary<std::int64_t>(),
                         .vocab = 256,
                         .mask_id = kIds.mask},
                        {.sample = *rc::gen::inRange(0, 1000)});
  const std::vector<int> positions = masking.positions(layout);
  RC_ASSERT(!positions.empty());
  RC_ASSERT(std::is_sorted(positions.begin(), positions.end()));
  for (const int position : positions) {
    RC_ASSERT(position > 0 && position < layout.length() - 1);
    RC_ASSERT(position != layout.begin_b() - 1);
  }
}

// With two tokens per sample, 0.85^2 of the samples get their target by force.
TEST(Masking, AForcedTargetIsEvenlyPlaced) {
  const PairLayout layout{.length_a = 1, .length_b = 1};
  std::int64_t first = 0;
  std::int64_t single = 0;
  for (std::int64_t sample = 0; sample < 20000; ++sample) {
    const Masking masking({.seed = 1, .vocab = 256, .mask_id = kIds.mask},
                          {.sample = sample});
    const std::vector<int> positions = masking.positions(layout);
    if (positions.size() != 1) continue;
    ++single;
    if (positions[0] == 1) ++first;
  }
  expect_share(single, 20000, 1 - 0.15 * 0.15);
  expect_share(first, single, 0.5);
}

TEST(PairSamples, TextUsesControlBytes) {
  const auto source = opened({.paths = {make_file("a.txt", "abcdefg")},
                              .kind = ModelKind::kBert,
                              .order = SampleOrder::kSequential,
                              .seq = 10,
                              .vocab = 256});
  EXPECT_EQ(source->num_samples(), 1);
  const Batch batch = source->read(0, 0, 1);
  EXPECT_EQ(unmasked(batch), (std::vector<std::int64_t>{
                                 1, 'a', 'b', 'c', 2, 'd', 'e', 'f', 'g', 2}));
  EXPECT_EQ(batch.next_sentence, std::vector<std::int64_t>{0})
      << "there is no other sample to take B from";
}

TEST(PairSamples, SpecialIdsByFormatAndVocabulary) {
  EXPECT_EQ(special_ids(DataFormat::kBin, 30522).mask, 103);
  EXPECT_EQ(special_ids(DataFormat::kBin, 104).cls, 101);
  EXPECT_EQ(special_ids(DataFormat::kBin, 103).mask, 3);
  EXPECT_EQ(special_ids(DataFormat::kText, 30522).sep, 2);
  EXPECT_EQ(special_ids(DataFormat::kJsonl, 256).cls, 1);
}

TEST(PairSamples, RefusesAModelOfOneTokenType) {
  DataOptions options = many_pairs();
  options.type_vocab = 1;
  EXPECT_EQ(mistakes_of(options),
            "error[E512] FILE: a model of type_vocab_size = 1 cannot tell A "
            "from B in [CLS] A [SEP] B [SEP]; hint: prepare the samples, or "
            "take a model of two token types");
}

TEST(PairSamples, RefusesShapesThatHoldNoPair) {
  const std::string path = make_file("a.bin", as_bin({0, 1, 2, 0, 1, 2}));
  const std::string to_cut = " to cut [CLS] A [SEP] B [SEP]";
  EXPECT_EQ(
      mistakes_of(
          {.paths = {path}, .kind = ModelKind::kBert, .seq = 4, .vocab = 3}),
      "error[E512] FILE: seq = 4 must be at least 5" + to_cut +
          "; hint: raise model.seq\nerror[E512] FILE: vocab = 3 must be "
          "at least 4" +
          to_cut + "; hint: raise model.vocab");
  EXPECT_EQ(
      mistakes_of(
          {.paths = {path}, .kind = ModelKind::kBert, .seq = 10, .vocab = 4}),
      "");
  EXPECT_EQ(
      mistakes_of({.paths = {make_file("b.bin", as_bin({1}))},
                   .kind = ModelKind::kBert,
                   .seq = 10,
                   .vocab = 4}),
      "error[E504] FILE: 1 tokens are too few for one sample of seq = 10, "
      "which takes 2; hint: use a longer file, or lower model.seq");
  EXPECT_EQ(
      mistakes_of(
          {.paths = {path}, .kind = ModelKind::kBert, .seq = 5, .vocab = 4}),
      "");
}

}  // namespace
}  // namespace chimera
