#include "chimera/tokenizer/unicode.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "chimera/tokenizer/bert_text.h"
#include "chimera/tokenizer/text_for_tests.h"

namespace chimera {
namespace {

TEST(Unicode, KnowsClasses) {
  const ClassTable& classes = char_classes();
  EXPECT_EQ(classes['a'], kLetter);
  EXPECT_EQ(classes['7'], kNumber);
  EXPECT_EQ(classes[' '], kSpace);
  EXPECT_EQ(classes['$'], kPunctuation);  // as in BERT; in Unicode a symbol
  EXPECT_EQ(classes[0x4E2D], kLetter | kIdeograph);
  EXPECT_EQ(classes[0x301], kMark | kUnsettled);
  EXPECT_EQ(classes[0], kControl);
}

TEST(Unicode, ComposesAndDecomposes) {
  EXPECT_EQ(nfc("e\xCC\x81"), "\xC3\xA9");
  EXPECT_EQ(nfd("\xC3\xA9"), "e\xCC\x81");
  // Marks are sorted: a cedilla comes before an acute.
  EXPECT_EQ(nfd("e\xCC\x81\xCC\xA7"), "e\xCC\xA7\xCC\x81");
  // Hangul, with and without a final consonant.
  EXPECT_EQ(nfc("\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB"), "\xED\x95\x9C");
  EXPECT_EQ(nfd("\xED\x95\x98"), "\xE1\x84\x92\xE1\x85\xA1");
  // This character is excluded from composition.
  EXPECT_EQ(nfc("\xE0\xA5\x98"), "\xE0\xA4\x95\xE0\xA4\xBC");
}

TEST(Unicode, LowerCaseMayBeLonger) {
  std::string out;
  append_lowercase(0x130, out);
  append_lowercase('A', out);
  append_lowercase(0x3A3, out);
  EXPECT_EQ(out,
            "i\xCC\x87"
            "a\xCF\x83");
}

TEST(Unicode, BertTextIsCleaned) {
  EXPECT_EQ(bert_normalized("H\xC3\xA9llo\tW\xC3\x96RLD\x01!", {}),
            "hello world!");
  EXPECT_EQ(bert_normalized("a\xE4\xB8\xAD"
                            "b",
                            {}),
            "a \xE4\xB8\xAD b");
  EXPECT_EQ(bert_normalized("\xC3\x89", {.strip_accents = false}), "\xC3\xA9");
}

RC_GTEST_PROP(Unicode, NormalFormsAgree, ()) {
  const std::string text = *strange_text();
  RC_ASSERT(nfc(nfd(text)) == nfc(text));
  RC_ASSERT(nfd(nfc(text)) == nfd(text));
  RC_ASSERT(nfc(nfc(text)) == nfc(text));
  if (!may_need_nfc(text)) RC_ASSERT(nfc(text) == text);
}

}  // namespace
}  // namespace chimera
