#include "chimera/tokenizer/utf8.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "chimera/tokenizer/text_for_tests.h"

namespace chimera {
namespace {

constexpr const char* kBad = "\xEF\xBF\xBD";

std::string repair(std::string_view text) {
  std::string storage;
  return std::string(repaired(text, storage));
}

std::string bad(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += kBad;
  return text;
}

// The expected values are those of Python's bytes.decode("utf-8", "replace").
TEST(Utf8, ReplacesWhatPythonReplaces) {
  EXPECT_EQ(repair("a\xFF"
                   "b"),
            "a" + bad(1) + "b");
  EXPECT_EQ(repair("\xC0\x80"), bad(2));  // overlong
  EXPECT_EQ(repair("\xE2\x82"
                   "a"),
            bad(1) + "a");  // cut short
  EXPECT_EQ(repair("\xE2\x82"), bad(1));
  EXPECT_EQ(repair("\xED\xA0\x80"), bad(3));  // a surrogate
  EXPECT_EQ(repair("\xF0\x9F\x98"), bad(1));
  EXPECT_EQ(repair("\xF4\x90\x80\x80"), bad(4));  // above 0x10FFFF
  EXPECT_EQ(repair("\xF0\x80\x80\x80"), bad(4));
  EXPECT_EQ(repair("\x80\xBF"), bad(2));
}

TEST(Utf8, LeavesSoundTextWhereItIs) {
  const std::string text = "a\xC3\xA9\xE4\xB8\xAD\xF0\x9F\x98\x80";
  std::string storage;
  EXPECT_EQ(repaired(text, storage).data(), text.data());
}

RC_GTEST_PROP(Utf8, AnyBytesBecomeSoundText, (const std::string& bytes)) {
  const std::string once = repair(bytes);
  std::string storage;
  RC_ASSERT(repaired(once, storage).data() == once.data());
}

RC_GTEST_PROP(Utf8, CodePointsComeBack, ()) {
  const std::string text = *strange_text();
  std::string again;
  for (size_t at = 0; at < text.size();) {
    const CodePoint code = code_point_at(text, at);
    at += code.length;
    RC_ASSERT(code_point_before(text, at).value == code.value);
    append_utf8(code.value, again);
  }
  RC_ASSERT(again == text);
}

}  // namespace
}  // namespace chimera
