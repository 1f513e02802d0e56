// Samples that respect documents: packed causal rows, and pairs with padding.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <filesystem>

#include "chimera/data/files_for_tests.h"
#include "chimera/tokenizer/corpus/blank_lines.h"
#include "chimera/tokenizer/corpus/corpus_description.h"
#include "chimera/tokenizer/corpus/megatron_index.h"

namespace chimera {
namespace {

using Ids = std::vector<std::int64_t>;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Documents, BlankLinesSeparateThem) {
  EXPECT_THAT(split_at_blanks("\n one\ntwo\n \t\n\nthree"),
              ElementsAre(" one\ntwo", "three"));
  EXPECT_THAT(split_at_blanks("one\r\n\r\ntwo\r\n"),
              ElementsAre("one\r", "two\r"));
  EXPECT_THAT(split_at_blanks(" \n\n"), ElementsAre());
  EXPECT_EQ(last_document_end("one\n\ntwo\n \nthr"), 11U);
  EXPECT_EQ(last_document_end("one\ntwo\n"), 0U);
  EXPECT_EQ(last_document_end("one\n\n"), 5U);
}

// Cutting a text at last_document_end() does not change its documents.
RC_GTEST_PROP(Documents, ATextMayBeCutBehindABlankLine, ()) {
  const auto text = *rc::gen::container<std::string>(
      rc::gen::element('a', 'b', '\n', '\n', ' '));
  const size_t end = last_document_end(text);
  auto parts = split_at_blanks(std::string_view(text).substr(0, end));
  const auto rest = split_at_blanks(std::string_view(text).substr(end));
  parts.insert(parts.end(), rest.begin(), rest.end());
  RC_ASSERT(parts == split_at_blanks(text));
}

DataOptions packed(const std::string& path, int seq) {
  return {.paths = {path},
          .order = SampleOrder::kSequential,
          .pack = Packing::kDocuments,
          .seq = seq,
          .vocab = 256,
          .global_batch = 1};
}

TEST(Documents, ARowTakesThemWhileTheyFit) {
  const auto source = opened(
      packed(make_file("a.txt", "abc\n\nde\n\nfghi\n\nx\n\nnopqrstuvw"), 6));
  EXPECT_TRUE(source->has_segments());
  ASSERT_EQ(source->num_samples(), 4);
  // "abc\n" has three inputs and "de\n" two; "fghi\n" no longer fits.
  EXPECT_EQ(source->read(0, 0, 1),
            (Batch{.samples = 1,
                   .seq = 6,
                   .sample_ids = {0},
                   .inputs = {'a', 'b', 'c', 'd', 'e', 0},
                   .targets = {'b', 'c', '\n', 'e', '\n', kIgnoredTarget},
                   .segments = {0, 0, 0, 1, 1, 2},
                   .positions = {0, 1, 2, 0, 1, 0}}));
  EXPECT_EQ(source->targets(0), (TargetCount{.tokens = 5}));
  EXPECT_EQ(source->read(1, 0, 1).inputs, (Ids{'f', 'g', 'h', 'i', 'x', 0}));
  // A document that is too long is cut into pieces that share a token.
  EXPECT_EQ(source->read(2, 0, 1).inputs, (Ids{'n', 'o', 'p', 'q', 'r', 's'}));
  EXPECT_EQ(source->read(2, 0, 1).targets.back(), 't');
  EXPECT_EQ(source->read(3, 0, 1).inputs, (Ids{'t', 'u', 'v', 0, 0, 0}));
  EXPECT_EQ(source->targets(3), (TargetCount{.tokens = 3}));
}

// Every token except the first of its document is a target exactly once.
RC_GTEST_PROP(Documents, EachTargetComesOnceInAnEpoch, ()) {
  const auto lengths = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<int>>(rc::gen::inRange(2, 30)));
  std::string jsonl;
  size_t targets = 0;
  for (const int length : lengths) {
    jsonl += "{\"text\": \"" + std::string(static_cast<size_t>(length), 'a') +
             "\"}\n";
    // Counts the newline after each text as a token.
    targets += static_cast<size_t>(length);
  }
  --targets;  // none follows the last text
  const std::string path = testing::TempDir() + "each_target.jsonl";
  write_file(path, jsonl);
  const int seq = *rc::gen::inRange(1, 20);
  const auto source = open_data(packed(path, seq)).value();
  size_t found = 0;
  for (std::int64_t step = 0; step < source->num_samples(); ++step) {
    const Batch batch = source->read(step, 0, 1);
    const auto counted = std::count_if(
        batch.targets.begin(), batch.targets.end(),
        [](std::int64_t target) { return target != kIgnoredTarget; });
    RC_ASSERT(counted == source->targets(step).tokens);
    RC_ASSERT(batch.inputs.size() == static_cast<size_t>(seq));
    found += static_cast<size_t>(counted);
  }
  RC_ASSERT(found == targets);
}

TEST(Documents, OfIdsEndAtTheTokenOfTheDescription) {
  const std::string path = make_file("a.bin", as_bin({7, 8, 9, 5, 9}));
  write_file(
      description_path(path),
      print(CorpusDescription{
          .tokens = 5, .documents = 2, .vocab = 10, .end_of_document = 9}));
  const Batch batch = opened(packed(path, 4))->read(0, 0, 1);
  EXPECT_EQ(batch.inputs, (Ids{7, 8, 5, 0}));
  EXPECT_EQ(batch.targets, (Ids{8, 9, 9, kIgnoredTarget}));
  std::filesystem::remove(description_path(path));
}

DataOptions pairs(const std::string& path) {
  return {.paths = {path},
          .kind = ModelKind::kBert,
          .order = SampleOrder::kSequential,
          .seq = 9,
          .vocab = 256,
          .global_batch = 1};
}

TEST(Documents, PairsKeepToThemAndArePadded) {
  const auto source =
      opened(pairs(make_file("a.jsonl",
                             "{\"text\": \"abcdefghi\"}\n{\"text\": \"\"}\n"
                             "{\"text\": \"xyz\"}\n")));
  EXPECT_TRUE(source->has_segments());
  // "abcdef", "ghi\n", "xyz".
  ASSERT_EQ(source->num_samples(), 3);
  for (std::int64_t step = 0; step < 300; ++step) {
    const Batch batch = source->read(step, 0, 1);
    Ids tokens = batch.inputs;
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (batch.targets[i] != kIgnoredTarget) tokens[i] = batch.targets[i];
    }
    const std::string as = step % 3 == 0 ? "abc" : step % 3 == 1 ? "gh" : "x";
    EXPECT_EQ(std::string(
                  tokens.begin() + 1,
                  tokens.begin() + 1 + static_cast<std::ptrdiff_t>(as.size())),
              as);
    if (batch.next_sentence[0] == 0) {
      const std::string own = step % 3 == 0   ? "def"
                              : step % 3 == 1 ? "i\n"
                                              : "yz";
      const size_t begin = as.size() + 2;
      EXPECT_EQ(std::string(tokens.begin() + static_cast<std::ptrdiff_t>(begin),
                            tokens.begin() + static_cast<std::ptrdiff_t>(
                                                 begin + own.size())),
                own);
      const size_t end = begin + own.size() + 1;
      for (size_t i = 0; i < 9; ++i) {
        EXPECT_EQ(batch.segments[i], i < end ? 0 : 1);
        EXPECT_TRUE(i < end || tokens[i] == 0);
        EXPECT_EQ(batch.token_types[i], i >= begin && i < end ? 1 : 0);
      }
    }
    EXPECT_EQ(source->targets(step).tokens,
              std::count_if(batch.targets.begin(), batch.targets.end(),
                            [](std::int64_t t) { return t != -100; }));
  }
}

// Text kept for evaluation must not appear in training as half B of a pair.
TEST(Documents, BComesFromTheSamePartOfTheData) {
  std::string text;
  for (char c = 'a'; c <= 'j'; ++c) text += std::string(6, c);
  DataOptions options = pairs(make_file("a.txt", text));
  options.eval_fraction = 0.3;
  const auto training = opened(options);
  EXPECT_FALSE(training->has_segments());
  ASSERT_EQ(training->num_samples(), 7);
  for (std::int64_t step = 0; step < 500; ++step) {
    const Batch batch = training->read(step, 0, 1);
    for (size_t i = 5; i < 8; ++i) {
      const std::int64_t token = batch.targets[i] != kIgnoredTarget
                                     ? batch.targets[i]
                                     : batch.inputs[i];
      EXPECT_LE(token, 'g');
    }
  }
}

}  // namespace
}  // namespace chimera
