#include "chimera/tokenizer/pretokenize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "chimera/tokenizer/text_cut.h"
#include "chimera/tokenizer/text_for_tests.h"

namespace chimera {
namespace {

using testing::ElementsAre;

constexpr SplitPattern kAll[] = {SplitPattern::kGpt2, SplitPattern::kLlama3,
                                 SplitPattern::kQwen};

std::vector<std::string> words(SplitPattern pattern, std::string_view text) {
  std::vector<std::string> found;
  for (size_t at = 0; at < text.size();) {
    const size_t end = word_end(pattern, text, at);
    found.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return found;
}

TEST(Pretokenize, Gpt2) {
  EXPECT_THAT(
      words(SplitPattern::kGpt2, "I'll  go, 2023!\n\n x"),
      ElementsAre("I", "'ll", " ", " go", ",", " 2023", "!", "\n\n", " x"));
  EXPECT_THAT(words(SplitPattern::kGpt2, "it'S\t\tx "),
              ElementsAre("it", "'", "S", "\t", "\t", "x", " "));
}

TEST(Pretokenize, Llama3) {
  EXPECT_THAT(words(SplitPattern::kLlama3, "I'LL  go, 2023!\n\n x\n  y"),
              ElementsAre("I", "'LL", " ", " go", ",", " ", "202", "3", "!\n\n",
                          " x", "\n", " ", " y"));
  EXPECT_THAT(words(SplitPattern::kLlama3, "(a) \r\n\tb"),
              ElementsAre("(a", ")", " \r\n", "\tb"));
}

TEST(Pretokenize, QwenTakesNumbersOneByOne) {
  EXPECT_THAT(words(SplitPattern::kQwen, " 42a"),
              ElementsAre(" ", "4", "2", "a"));
}

TEST(Pretokenize, OtherPatternsAreNotKnown) {
  EXPECT_EQ(known_pattern(R"(\s+)"), std::nullopt);
  EXPECT_EQ(
      known_pattern(
          R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"),
      SplitPattern::kGpt2);
}

TEST(TextCut, LiesBesideBlanksAndLineEnds) {
  EXPECT_EQ(last_cut_of("one two three"), 7U);
  EXPECT_EQ(last_cut_of("one\ntwo"), 4U);
  EXPECT_EQ(last_cut_of("one,\n\ntwo"), 0U);
  EXPECT_EQ(last_cut_of("a\xC2\xA0 bcd"), 0U);  // behind another space
  EXPECT_EQ(last_cut_of("unbroken"), 0U);
  EXPECT_EQ(last_cut_of("\xFF\x80 \x80\x80\x80\x80"), 2U);
}

// Holds for every pattern, whatever text follows.
RC_GTEST_PROP(TextCut, KeepsTheWords, ()) {
  const std::string text = *strange_text();
  const std::string rest = *strange_text();
  const size_t cut = last_cut_of(text);
  if (cut == 0) return;
  for (const SplitPattern pattern : kAll) {
    std::vector<std::string> parts = words(pattern, text.substr(0, cut));
    for (std::string& word : words(pattern, text.substr(cut) + rest)) {
      parts.push_back(std::move(word));
    }
    RC_ASSERT(parts == words(pattern, text + rest));
  }
}

}  // namespace
}  // namespace chimera
