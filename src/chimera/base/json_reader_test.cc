#include "chimera/base/json_reader.h"

#include <gtest/gtest.h>

namespace chimera {
namespace {

// The error codes that skip() records about a document.
std::string codes_of_skipping(std::string_view text) {
  Diagnostics errors;
  JsonReader reader(text, "a.json", errors);
  reader.skip();
  reader.finish();
  std::string codes;
  for (const Diagnostic& error : errors) codes += error.code;
  return codes;
}

TEST(JsonReader, SkipsSoundValues) {
  for (const char* text : {"1", "-2.5e-3", "\"a\\n\"", "true", "null", "NaN",
                           "-Infinity", "[]", "{}", "[[], {}, [1, \"]\"]]",
                           R"({"a": {"b": [1, {"c": null}]}})", "1e999"}) {
    EXPECT_EQ(codes_of_skipping(text), "") << text;
  }
}

TEST(JsonReader, SkipsNothingElse) {
  for (const char* text :
       {"", "}", "[1,]", "[1 2]", "{\"a\": }", "{\"a\": }}", "[}", "{\"a\"}",
        "tru", "1-2", "[1", "{\"a\": 1", "1 1", "[\"a]"}) {
    EXPECT_EQ(codes_of_skipping(text), "E101") << text;
  }
}

TEST(JsonReader, RefusesToSkipDeepNesting) {
  const std::string sound = std::string(64, '[') + std::string(64, ']');
  EXPECT_EQ(codes_of_skipping(sound), "");
  EXPECT_EQ(codes_of_skipping("[" + sound + "]"), "E101");
  EXPECT_EQ(codes_of_skipping(std::string(1000000, '[')), "E101");
}

struct Read {
  Diagnostics errors;
  std::optional<std::int64_t> whole;
  std::optional<double> real;
  std::optional<bool> truth;
  bool was_null = false;
};

Read read_as(std::string_view text, char type) {
  Read read;
  JsonReader reader(text, "a.json", read.errors,
                    {.syntax = "S", .type = "T", .range = "R", .key = "K"});
  if (type == 'i') read.whole = reader.integer("x");
  if (type == 'l') read.whole = reader.integer64("x");
  if (type == 'r') read.real = reader.real("x");
  if (type == 'b') read.truth = reader.boolean("x");
  if (type == 'n') read.was_null = reader.null();
  if (type != 'n') reader.finish();
  return read;
}

TEST(JsonReader, ReadsNumbersAndLiterals) {
  EXPECT_EQ(read_as("-7", 'i').whole, -7);
  EXPECT_EQ(read_as("9223372036854775807", 'l').whole, INT64_MAX);
  EXPECT_EQ(read_as("1e-05", 'r').real, 1e-05);
  EXPECT_EQ(read_as("3", 'r').real, 3);
  EXPECT_EQ(read_as(" true", 'b').truth, true);
  EXPECT_EQ(read_as("false", 'b').truth, false);
  EXPECT_TRUE(read_as("null", 'n').was_null);
  EXPECT_FALSE(read_as("nul", 'n').was_null);
  EXPECT_FALSE(read_as("1", 'n').was_null);
}

TEST(JsonReader, NamesWhatIsWrongWithNumbersAndLiterals) {
  const auto code = [](std::string_view text, char type) {
    const Read read = read_as(text, type);
    return read.errors.empty() ? "none" : read.errors[0].code;
  };
  EXPECT_EQ(code("2147483648", 'i'), "R");
  EXPECT_EQ(code("9223372036854775808", 'l'), "R");
  EXPECT_EQ(code("1.5", 'l'), "T");
  EXPECT_EQ(code("1e400", 'r'), "R");
  EXPECT_EQ(code("1x", 'r'), "T");
  EXPECT_EQ(code("\"1\"", 'r'), "T");
  EXPECT_EQ(code("1", 'b'), "T");
  EXPECT_EQ(code("\"true\"", 'b'), "T");
  EXPECT_EQ(code("truth", 'b'), "T");
  EXPECT_EQ(code("", 'b'), "S");
}

// The one string that `text` holds, or the message that refuses it.
std::string read_string(std::string_view text) {
  Diagnostics errors;
  JsonReader reader(text, "a.json", errors);
  const std::string value = reader.string("it").value_or("");
  reader.finish();
  return errors.empty() ? value : to_string(errors.front());
}

TEST(JsonReader, EscapesBecomeUtf8) {
  EXPECT_EQ(read_string(R"("\u0041\u000a\n\/")"), "A\n\n/");
  EXPECT_EQ(read_string(R"("\u00e9\u20ac")"), "\xC3\xA9\xE2\x82\xAC");
  EXPECT_EQ(read_string(R"("\ud83d\ude00")"), "\xF0\x9F\x98\x80");
  EXPECT_EQ(read_string(R"("\uDBFF\uDFFF")"), "\xF4\x8F\xBF\xBF");
  EXPECT_EQ(read_string(R"("\u0000")"), std::string(1, '\0'));
}

TEST(JsonReader, HalfASurrogatePairIsReplaced) {
  const std::string replacement = "\xEF\xBF\xBD";
  EXPECT_EQ(read_string(R"("\ud83d")"), replacement);
  EXPECT_EQ(read_string(R"("\ude00x")"), replacement + "x");
  EXPECT_EQ(read_string(R"("\ud83d\u0041")"), replacement + "A");
  EXPECT_EQ(read_string(R"("\ud83d\ud83d\ude00")"),
            replacement + "\xF0\x9F\x98\x80");
  EXPECT_EQ(read_string(R"("\ud83d\n")"), replacement + "\n");
}

TEST(JsonReader, RefusesBrokenEscapes) {
  EXPECT_EQ(read_string(R"("\u12")"),
            "error[E101] a.json:1: \"12\"\" must be four hexadecimal digits");
  EXPECT_EQ(read_string(R"("\ud83d\u12")"),
            "error[E101] a.json:1: \"12\"\" must be four hexadecimal digits");
  EXPECT_EQ(read_string(R"("\x")"),
            "error[E101] a.json:1: \"x\"\" is not an escape");
}

TEST(JsonReader, ANullCharacterIsNotTheEnd) {
  EXPECT_EQ(read_string(std::string_view("\"a\" \0 b", 7)),
            "error[E101] a.json:1: \"? b\" follows the end of the document");
}

TEST(JsonReader, SkipsAnyValue) {
  Diagnostics errors;
  JsonReader reader(R"({"a": [1, {"b": "]"}, null], "c": -1e5, "d": 7})",
                    "a.json", errors);
  int d = 0;
  reader.object("it", [&](const std::string& key) {
    if (key == "d") {
      d = reader.integer(key).value_or(0);
    } else {
      reader.skip();
    }
  });
  reader.finish();
  EXPECT_TRUE(errors.empty());
  EXPECT_EQ(d, 7);
}

TEST(JsonReader, AClosingBracketIsNotASkippedValue) {
  Diagnostics errors;
  JsonReader reader(R"({"a": }})", "a.json", errors);
  reader.object("it", [&](const std::string&) { reader.skip(); });
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(to_string(errors[0]),
            "error[E101] a.json:1: \"}}\" must be a value");
}

}  // namespace
}  // namespace chimera
