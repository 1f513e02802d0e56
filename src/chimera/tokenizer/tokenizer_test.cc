#include "chimera/tokenizer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "chimera/tokenizer/byte_alphabet.h"
#include "chimera/tokenizer/encoder.h"
#include "chimera/tokenizer/text_for_tests.h"
#include "chimera/tokenizer/tokenizer_files.h"
#include "chimera/tokenizer/tokenizer_json.h"

namespace chimera {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A tokenizer with all bytes, some merges, and an end of text.
TokenizerSpec byte_level(SplitPattern pattern) {
  TokenizerSpec spec;
  for (int byte = 0; byte < 256; ++byte) {
    spec.vocabulary[letter_of_byte(static_cast<std::uint8_t>(byte))] =
        static_cast<TokenId>(byte);
  }
  BpeSpec bpe{.pattern = pattern};
  const auto merge = [&](const std::string& left, const std::string& right) {
    bpe.merges.emplace_back(left, right);
    spec.vocabulary[left + right] =
        static_cast<TokenId>(spec.vocabulary.size());
  };
  const std::string blank = letter_of_byte(' ');
  merge("a", "b");
  merge(blank, "a");
  merge(blank, blank);
  merge(letter_of_byte(0xCC), letter_of_byte(0x81));
  merge("ab", "ab");
  spec.model = bpe;
  spec.added = {{.content = "<|endoftext|>", .id = 300}};
  return spec;
}

std::vector<TokenId> encoded(const Tokenizer& tokenizer,
                             std::string_view text) {
  std::vector<TokenId> ids;
  Encoder(tokenizer).encode(text, ids);
  return ids;
}

RC_GTEST_PROP(Tokenizer, DecodesWhatItEncoded, ()) {
  const auto pattern = *rc::gen::element(
      SplitPattern::kGpt2, SplitPattern::kLlama3, SplitPattern::kQwen);
  const Tokenizer tokenizer = Tokenizer::make(byte_level(pattern)).value();
  const std::string text = *strange_text();
  RC_ASSERT(tokenizer.decode(encoded(tokenizer, text)) == text);
}

RC_GTEST_PROP(Tokenizer, PartsBesideACutGiveTheWhole, ()) {
  TokenizerSpec spec = byte_level(*rc::gen::element(
      SplitPattern::kGpt2, SplitPattern::kLlama3, SplitPattern::kQwen));
  if (*rc::gen::arbitrary<bool>()) spec.normalizer = Nfc{};
  const Tokenizer tokenizer = Tokenizer::make(spec).value();
  const std::string text = *strange_text() + *strange_text();
  const size_t cut = tokenizer.last_cut(text);
  std::vector<TokenId> parts = encoded(tokenizer, text.substr(0, cut));
  const std::vector<TokenId> rest = encoded(tokenizer, text.substr(cut));
  parts.insert(parts.end(), rest.begin(), rest.end());
  RC_ASSERT(parts == encoded(tokenizer, text));
}

TEST(Tokenizer, FindsAddedTokens) {
  TokenizerSpec spec = byte_level(SplitPattern::kGpt2);
  spec.added.push_back(
      {.content = "<m>", .id = 301, .lstrip = true, .rstrip = true});
  spec.added.push_back({.content = "<m>x", .id = 302});
  const Tokenizer tokenizer = Tokenizer::make(spec).value();
  EXPECT_THAT(encoded(tokenizer, "c  <m>\n d<|endoftext|><m>x"),
              ElementsAre('c', 301, 'd', 300, 302));
  EXPECT_EQ(tokenizer.end_of_document(), 300U);
  EXPECT_EQ(tokenizer.num_ids(), 303U);
  EXPECT_EQ(tokenizer.last_cut("one two three"), 0U);
}

TEST(Tokenizer, HashTellsTokenizersApart) {
  const TokenizerSpec spec = byte_level(SplitPattern::kGpt2);
  TokenizerSpec other = spec;
  std::swap(std::get<BpeSpec>(other.model).merges[0],
            std::get<BpeSpec>(other.model).merges[1]);
  const auto hash = [](const TokenizerSpec& s) {
    return Tokenizer::make(s).value().hash();
  };
  EXPECT_EQ(hash(spec), hash(byte_level(SplitPattern::kGpt2)));
  EXPECT_NE(hash(spec), hash(other));
  EXPECT_NE(hash(spec), hash(byte_level(SplitPattern::kQwen)));
}

TEST(Tokenizer, ContradictionsAreRefused) {
  TokenizerSpec spec = byte_level(SplitPattern::kGpt2);
  std::get<BpeSpec>(spec.model).merges.emplace_back("z", "zz");
  EXPECT_EQ(Tokenizer::make(spec).errors().front().code, "E705");
  spec = byte_level(SplitPattern::kGpt2);
  spec.added.push_back({.content = "new", .id = 65});
  EXPECT_EQ(Tokenizer::make(spec).errors().front().code, "E705");
  spec = byte_level(SplitPattern::kGpt2);
  spec.added.push_back({.content = "ab", .id = 400});
  EXPECT_EQ(Tokenizer::make(spec).errors().front().code, "E705");
}

TEST(WordPiece, CoversWordsGreedily) {
  const Vocabulary vocabulary =
      parse_vocab_txt("[UNK]\n[SEP]\nplay\n##ing\n##ed\nun\n!\n");
  const Tokenizer tokenizer =
      Tokenizer::make(bert_spec(vocabulary, {})).value();
  EXPECT_THAT(encoded(tokenizer, "Playing, unPLAYED! [SEP]"),
              ElementsAre(2, 3, 0, 0, 6, 1));
  EXPECT_EQ(tokenizer.decode(encoded(tokenizer, "PL\xC3\x82YED!")), "played!");
  EXPECT_EQ(tokenizer.end_of_document(), std::nullopt);
  EXPECT_THAT(encoded(tokenizer, std::string(101, 'p')), ElementsAre(0));
}

// The unknown token may be an added one, and the only token.
TEST(WordPiece, NothingIsKnown) {
  TokenizerSpec spec = bert_spec({}, {});
  spec.added = {{.content = "[UNK]", .id = 0}};
  EXPECT_THAT(encoded(Tokenizer::make(spec).value(), "a \xC3\xA9"),
              ElementsAre(0, 0));
}

std::string json(const std::string& model, const std::string& pre_tokenizer,
                 const std::string& more = "") {
  return R"({"version": "1.0", "truncation": null, "padding": null,
 "added_tokens": [], "normalizer": null, "pre_tokenizer": )" +
         pre_tokenizer + R"(, "post_processor": null, "decoder": null)" + more +
         R"(, "model": )" + model + "}";
}

constexpr const char* kBytes =
    R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": true})";

TEST(TokenizerJson, ReadsMergesInBothForms) {
  for (const char* merges :
       {R"(["a b", "ab c"])", R"([["a","b"],["ab","c"]])"}) {
    const auto spec = parse_tokenizer_json(
        json(std::string(R"({"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2,
             "ab": 3, "abc": 4}, "merges": )") +
                 merges + "}",
             kBytes),
        "t.json");
    ASSERT_TRUE(spec.ok());
    EXPECT_THAT(encoded(Tokenizer::make(*spec).value(), "abcab"),
                ElementsAre(4, 3));
  }
}

// Expects a refusal with this code and these words.
void expect_refused(const std::string& text, const char* code,
                    const char* words) {
  const auto spec = parse_tokenizer_json(text, "t.json");
  ASSERT_FALSE(spec.ok()) << text;
  EXPECT_EQ(spec.errors().front().code, code);
  EXPECT_THAT(to_string(spec.errors().front()), HasSubstr(words));
}

TEST(TokenizerJson, RefusesByName) {
  const std::string bpe = R"({"type": "BPE", "vocab": {"a": 0}, "merges": []})";
  expect_refused(json(R"({"type": "Unigram", "vocab": [["a", 0.5]]})", kBytes),
                 "E706", "Unigram");
  expect_refused(json(bpe, R"({"type": "Metaspace"})"), "E706", "Metaspace");
  expect_refused(json(bpe, "null"), "E706", "pre_tokenizer");
  expect_refused(json(bpe, R"({"type": "BertPreTokenizer"})"), "E706", "BPE");
  expect_refused(
      json(bpe, R"({"type": "Sequence", "pretokenizers": [{"type": "Split",
           "pattern": {"Regex": "\\d"}, "behavior": "Isolated", "invert": false},
           {"type": "ByteLevel", "add_prefix_space": false,
            "use_regex": false}]})"),
      "E706", "\\d");
  expect_refused(json(R"({"type": "BPE", "dropout": 0.1, "vocab": {"a": 0},
                      "merges": []})",
                      kBytes),
                 "E706", "dropout");
  expect_refused(json(bpe, kBytes, R"(, "novelty": 1)"), "E704", "novelty");
  expect_refused(
      json(R"({"type": "BPE", "vocab": {"a": -1}, "merges": []})", kBytes),
      "E703", "-1");
  expect_refused("{\"model\":", "E702", "t.json:1");
  expect_refused("{}", "E704", "model");
}

TEST(Merges, NeedTwoTokensALine) {
  const auto merges = parse_merges("#version: 0.2\na b\r\nab c\n\n", "m.txt");
  ASSERT_TRUE(merges.ok());
  EXPECT_EQ(merges->size(), 2U);
  const auto bad = parse_merges("a b\nabc\n", "m.txt");
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.errors().front().where, "m.txt:2");
}

}  // namespace
}  // namespace chimera
