#include "chimera/page/escape.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <optional>

#include "chimera/base/json_reader.h"

namespace chimera {
namespace {

TEST(Escape, HtmlTextHoldsNoMarkup) {
  EXPECT_EQ(html_text("<img src=x onerror=\"a('b')\">&"),
            "&lt;img src=x onerror=&quot;a(&#39;b&#39;)&quot;&gt;&amp;");
  EXPECT_EQ(html_text(std::string("a\0b\x1b[2Jc\n\t", 10)),
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD[2Jc\n\t");
}

TEST(Escape, ScriptStringCannotEndItsElement) {
  const std::string text = script_string("</script><!--\xE2\x80\xA8&");
  EXPECT_EQ(text, "\"\\u003c/script\\u003e\\u003c!--\\u2028\\u0026\"");
}

TEST(Escape, BytesThatAreNoUtf8AreReplaced) {
  // A lone byte, a truncated character, an overlong form, a surrogate, and one
  // above U+10FFFF.
  for (const char* bad : {"\xff", "\xc3", "\xc0\xaf", "\xed\xa0\x80",
                          "\xf4\x90\x80\x80", "\xe2\x80"}) {
    const std::string text = html_text(bad);
    EXPECT_EQ(text.find(bad), std::string::npos);
    EXPECT_EQ(text.find("\xEF\xBF\xBD"), 0u);
  }
  EXPECT_EQ(html_text("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"),
            "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
}

RC_GTEST_PROP(Escape, AnyBytesStayInsideTheirPlace, (const std::string& text)) {
  const std::string html = html_text(text);
  RC_ASSERT(html.find_first_of("<>\"'") == std::string::npos);
  const std::string script = script_string(text);
  RC_ASSERT(script.find_first_of("<>&\n") == std::string::npos);
  // Reads the text back with a separate JSON reader.
  Diagnostics errors;
  JsonReader reader(script, "text", errors);
  const std::optional<std::string> back = reader.string("text");
  reader.finish();
  RC_ASSERT(errors.empty() && back.has_value());
  const bool is_ascii = std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x80;
  });
  if (is_ascii) RC_ASSERT(*back == text);
}

}  // namespace
}  // namespace chimera
