#include "chimera/data/jsonl.h"

#include <gtest/gtest.h>

#include "chimera/data/files_for_tests.h"

namespace chimera {
namespace {

std::string joined(std::string_view text) {
  const auto texts = join_documents({.text = text, .path = "a.jsonl"}, 256);
  return texts ? std::string(texts->bytes.begin(), texts->bytes.end())
               : to_string(texts.errors().front());
}

TEST(Jsonl, JoinsDocumentsByANewline) {
  EXPECT_EQ(joined("{\"text\": \"one\"}\n{\"text\": \"two\"}\n"), "one\ntwo");
  EXPECT_EQ(joined("{\"text\": \"one\"}"), "one");
  EXPECT_EQ(joined(R"({"text": "a\nb\u00e9"})"), "a\nb\xC3\xA9");
}

TEST(Jsonl, PassesOverBlankLinesAndOtherKeys) {
  EXPECT_EQ(joined("\n \t\r\n{\"id\": [1, {}], \"text\": \"x\", \"n\": null}\r"
                   "\n\n{\"text\": \"y\"}\n\n"),
            "x\ny");
}

TEST(Jsonl, NamesTheLine) {
  EXPECT_EQ(joined("{\"text\": \"x\"}\n\n{\"text\": \"y}\n"),
            "error[E507] a.jsonl:3: the end of the text must be a closing "
            "quote");
  EXPECT_EQ(joined("{\"text\": \"x\"} 7"),
            "error[E507] a.jsonl:1: \"7\" follows the end of the document");
  EXPECT_EQ(joined("\n[1, 2]"),
            "error[E508] a.jsonl:2: the line = an array must be an object");
  EXPECT_EQ(joined("\n{\"text\": 7}"),
            "error[E508] a.jsonl:2: text = a value must be a string");
  EXPECT_EQ(joined("{\"txt\": \"x\"}"),
            "error[E509] a.jsonl:1: a line without \"text\" cannot be "
            "tokenized; hint: write {\"text\": \"...\"}");
}

TEST(Jsonl, NamesTheLineOfAByteBeyondTheVocabulary) {
  const std::string path =
      make_file("a.jsonl", "{\"text\": \"ab\"}\n{\"text\": \"c\xC3\xA9\"}\n");
  EXPECT_EQ(mistakes_of({.paths = {path}, .seq = 2, .vocab = 128}),
            "error[E505] FILE:2: byte 195 must be below vocab = 128; hint: "
            "raise model.vocab; 256 takes any text");
  EXPECT_EQ(mistakes_of({.paths = {path}, .seq = 2, .vocab = 256}), "");
}

TEST(Jsonl, TheNewlineBetweenDocumentsIsATokenToo) {
  const std::string path = make_file("a.jsonl", R"({"text": "\u0001\u0002"}
{"text": "\u0003"})");
  EXPECT_EQ(mistakes_of({.paths = {path}, .seq = 2, .vocab = 10}),
            "error[E505] FILE, token 2: id 10 must be below vocab = 10; hint: "
            "raise model.vocab, or is this another tokenizer's file?");
}

TEST(Jsonl, RefusesAFileWithoutText) {
  const std::string none =
      "error[E502] a.jsonl: no text is nothing to train on; hint: write "
      "{\"text\": \"...\"}, one a line";
  EXPECT_EQ(joined("\n\n"), none);
  EXPECT_EQ(joined("{\"text\": \"\"}"), none);
}

TEST(Jsonl, ReportsTenLinesAtMost) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += "{}\n{\"text\": \"fine\"}\n";
  const auto bytes = join_documents({.text = text, .path = "a.jsonl"}, 256);
  ASSERT_FALSE(bytes.ok());
  ASSERT_EQ(bytes.errors().size(), 10U);
  EXPECT_EQ(bytes.errors()[0].where, "a.jsonl:1");
  EXPECT_EQ(bytes.errors()[9].where, "a.jsonl:19");
}

}  // namespace
}  // namespace chimera
