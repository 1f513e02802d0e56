#include "chimera/base/text.h"

#include <gtest/gtest.h>

namespace chimera {
namespace {

TEST(Text, SplitsAndJoins) {
  EXPECT_EQ(split("a,,b", ',').size(), 3u);
  EXPECT_EQ(split("", ',').size(), 1u);
  EXPECT_EQ(join({"a", "b"}, ", "), "a, b");
  EXPECT_EQ(trim(" \ta b\r"), "a b");
  EXPECT_EQ(trim("  "), "");
}

TEST(Text, ParsesOnlyWholeInts) {
  EXPECT_EQ(parse_int("-12"), -12);
  EXPECT_FALSE(parse_int(""));
  EXPECT_FALSE(parse_int("1x"));
  EXPECT_FALSE(parse_int(" 1"));
  EXPECT_FALSE(parse_int("99999999999"));
}

TEST(Text, ReadsTheNumberInFront) {
  const auto read = [](std::string_view text) {
    double value = -1;
    const auto [stop, error] =
        read_real(text.data(), text.data() + text.size(), value);
    return std::pair(error == std::errc() ? value : -1, stop - text.data());
  };
  EXPECT_EQ(read("2.5e1GB"), std::pair(25.0, std::ptrdiff_t{5}));
  EXPECT_EQ(read("0x10"), std::pair(0.0, std::ptrdiff_t{1}));
  for (const char* text : {"", " 1", "+1", "-+1", "x"}) {
    EXPECT_EQ(read(text), std::pair(-1.0, std::ptrdiff_t{0})) << text;
  }
  EXPECT_EQ(read("1e999"), std::pair(-1.0, std::ptrdiff_t{5}));
}

TEST(Text, NumbersAreShortAndFreeOfRoundingDust) {
  EXPECT_EQ(number(36), "36");
  EXPECT_EQ(number(27.5), "27.5");
  EXPECT_EQ(number(0.1 + 0.2), "0.3");
  EXPECT_EQ(number(1e-13), "1e-13");
}

TEST(Text, JsonStringsAreEscaped) {
  EXPECT_EQ(json_string("a\"\\\n"), "\"a\\\"\\\\\\u000a\"");
}

TEST(Text, NearestNameForgivesTyposOnly) {
  const std::vector<std::string> names = {"chimera", "gpipe", "1f1b"};
  EXPECT_EQ(nearest_name("chimra", names), "chimera");
  EXPECT_EQ(nearest_name("gpip", names), "gpipe");
  EXPECT_EQ(nearest_name("", names), "");
  EXPECT_EQ(nearest_name("something else", names), "");
}

TEST(Text, ShownIsPrintableAndShort) {
  EXPECT_EQ(shown(std::string_view("a\0\x1b[31m", 7)), "a??[31m");
  EXPECT_EQ(shown(std::string(1000, 'x')).size(), 63u);
}

}  // namespace
}  // namespace chimera
