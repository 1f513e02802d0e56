// Texts that nobody writes by accident. Each must end as an error or a config,
// never in a crash, and within the memory that its size justifies.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "chimera/config/parse.h"
#include "chimera/config/print.h"

namespace chimera {
namespace {

std::string repeated(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

// The code and place of the first error; empty if there is none.
std::string first_error(const std::string& text,
                        const std::vector<std::string>& overrides = {}) {
  const auto config = parse_run_config(text, "run.toml", overrides);
  if (config) return "";
  return config.errors()[0].code + " " + config.errors()[0].where;
}

TEST(Hostile, DeepArrays) {
  EXPECT_EQ(first_error("[run]\ndir = " + repeated("[", 100000)),
            "E001 run.toml:2");
}

TEST(Hostile, DeepInlineTables) {
  EXPECT_EQ(first_error("[run]\ndir = " + repeated("{a = ", 50000)),
            "E001 run.toml:2");
}

TEST(Hostile, DeepDottedKeys) {
  EXPECT_EQ(first_error("[run]\n\n" + repeated("a.", 60000) + "a = 1\n"),
            "E002 run.toml:3");
  EXPECT_EQ(first_error("[" + repeated("a.", 60000) + "a]\n"),
            "E002 run.toml:1");
  EXPECT_EQ(first_error("x = {" + repeated("\"b.\".", 30000) + "a = 1}\n"),
            "E002 run.toml:1");
  EXPECT_EQ(first_error(repeated("1.", 60000) + "1 = 1\n"), "E002 run.toml:1");
  EXPECT_EQ(first_error(repeated("'' .\t", 30000) + "'' = 1\n"),
            "E002 run.toml:1");
  for (const char* quoted : {"a.\"b\"", "a.'b'", "a . \"b\"", "\"a\".\"b.\""}) {
    EXPECT_EQ(first_error(std::string(quoted) + " = 1\n[" + quoted + ".c]\n" +
                          repeated("x.", 100000) + "x = 1\n"),
              "E002 run.toml:3")
        << quoted;
  }
}

TEST(Hostile, AllTheNestingTheLimitsLeaveOpen) {
  const std::string chain = repeated("a.", 60) + "a";
  const std::string open = "[\n{" + chain + " = ";
  EXPECT_EQ(first_error("[" + chain + "]\n" + chain + " = " +
                        repeated(open, 120) + "1" + repeated("}]", 120) + "\n"),
            "E004 run.toml:1");
}

TEST(Hostile, ManyDotsThatAreNoKey) {
  const std::string dots = repeated("a.", 200);
  const std::string text =
      "[model] # " + dots + "\nkind = \"emulated\"\nforward_ms = [" +
      repeated("0.125, ", 2048) + "1]\ninput_grad_ms = 1.5\n" +
      "weight_grad_ms = 1e-3\n[run]\ndir = \"" + dots + "\"\n[data]\n" +
      "path = \"\"\"\n[.\"x\\\"\"\"\n" + dots + "\n[\n\"\"\"\"\"\n" +
      "eval_path = '''" + dots + "'''\n";
  EXPECT_EQ(first_error(text), "");
}

TEST(Hostile, StringsThatDoNotEnd) {
  const std::string dots = repeated("a.", 200);
  EXPECT_EQ(first_error("[run]\ndir = \"\"\"\n" + dots), "E002 run.toml:3");
  EXPECT_EQ(first_error("[run]\ndir = \"\"\"\n"), "E001 run.toml:2");
  EXPECT_EQ(first_error("[run]\ndir = \"\n" + dots), "E001 run.toml:2");
  EXPECT_EQ(first_error("[run]\ndir = \"\\\n" + dots + "\""),
            "E001 run.toml:2");
  EXPECT_EQ(first_error("[run]\ndir = '\\'\n[\n'\n"), "E001 run.toml:3");
}

TEST(Hostile, TooLarge) {
  EXPECT_EQ(first_error("#" + std::string(1 << 20, 'x')), "E002 run.toml");
}

TEST(Hostile, Numbers) {
  EXPECT_EQ(first_error("[train]\nsteps = 99999999999999999999\n"),
            "E001 run.toml:2");
  EXPECT_EQ(first_error("[train]\nlr = 1e999\n"), "E001 run.toml:2");
  EXPECT_EQ(first_error("[train]\nsteps = 9223372036854775807\n"),
            "E008 run.toml:2");
  EXPECT_EQ(first_error("[train]\nsteps = 0x7fffffffffffffff\n"),
            "E008 run.toml:2");
  EXPECT_EQ(first_error("[model]\nkind = \"gpt2\"\nhidden = 2147483647\n"),
            "E008 run.toml:3");
}

TEST(Hostile, NotUtf8) {
  EXPECT_EQ(first_error("[data]\npath = \"\xff\xfe\"\n"), "E001 run.toml:2");
  EXPECT_EQ(first_error("[data]\npath = \"\xed\xa0\x80\"\n"),
            "E001 run.toml:2");
  EXPECT_EQ(first_error("[data]\npath = 1 # \xc0\x80\n"), "E001 run.toml:2");
}

TEST(Hostile, BracketsWithoutSense) {
  for (const char* line : {"[.a]", "[ = ]", "[", "[#]", "[[,]]", "[[ [", "[\r",
                           "[\ra]", "[\xc3\xa9]", "[]", "[[]]", "[a..b]",
                           "[a.]", "x = [}]", "x = {]}", "x = [,]"}) {
    EXPECT_EQ(first_error(std::string("\n \t") + line + "\n"),
              "E001 run.toml:2")
        << line;
    EXPECT_EQ(first_error(std::string("\xef\xbb\xbf") + line),
              "E001 run.toml:1")
        << line;
  }
}

TEST(Hostile, OtherThanAsciiOutsideOfQuotes) {
  EXPECT_EQ(first_error("[run]\n\ndir = \xe2\x80\x9cx\xe2\x80\x9d\n"),
            "E001 run.toml:3");
  EXPECT_EQ(first_error("d\xc3\xa9 = 1\n"), "E001 run.toml:1");
  EXPECT_EQ(first_error("a = 0'\xc3\xa9'\n"), "E001 run.toml:1");
  EXPECT_EQ(first_error("a = \"\"\"\\\n\xc3\xa9\"\"\"\n"), "E001 run.toml:2");
  EXPECT_EQ(first_error("a = \"\"\"\\\n\xc3\xa9\n"), "E001 run.toml:2");
  EXPECT_EQ(first_error("[model] # \xc3\xa9\npreset = \"gpt2-tiny\"\n[run]\n"
                        "dir = \"\xc3\xa9\"\n"),
            "");
}

TEST(Hostile, NullBytes) {
  EXPECT_EQ(first_error(std::string("[data]\0\n", 8)), "E001 run.toml:1");
}

TEST(Hostile, Overrides) {
  const std::string model = "[model]\npreset = \"gpt2-tiny\"\n";
  EXPECT_EQ(first_error(model, {"run.dir=\xff"}), "E007 --set run.dir=?");
  EXPECT_EQ(first_error(model, {"run.dir=" + repeated("[", 100000)}), "");
  EXPECT_EQ(first_error(model, {"run.dir=[.a]", "run.dir=1\n[.a]"}), "");
  EXPECT_EQ(first_error(model, {"train.betas=[+0.5, 0.5]"}), "");
  EXPECT_EQ(first_error(model, {"run.dir=\xc3\xa9"}), "");
  EXPECT_EQ(first_error(model, {"run.dir={" + repeated("a.", 60000) + "a=1}"}),
            "");
  EXPECT_EQ(first_error(model, {"run.dir=" + std::string(1 << 20, 'x')})
                .substr(0, 20),
            "E007 --set run.dir=x");
  EXPECT_EQ(first_error(model, {std::string(1 << 20, '.')}),
            "E003 --set " + std::string(60, '.') + "...");
}

TEST(Hostile, NamesInErrorsArePrintable) {
  const auto config = parse_run_config(
      "[\"\\u001b[31m\"]\n[model]\n\"\\n\\u001b\" = 1\n", "run.toml", {});
  ASSERT_FALSE(config);
  for (const Diagnostic& error : config.errors()) {
    for (const char c : to_string(error)) EXPECT_TRUE(c >= 0x20 && c < 0x7f);
  }
}

TEST(Hostile, ThousandsOfMistakesAreAllReported) {
  std::string text = "[model]\npreset = \"gpt2-tiny\"\n";
  for (int i = 0; i < 5000; ++i) text += "k" + std::to_string(i) + " = 1\n";
  const auto config = parse_run_config(text, "run.toml", {});
  ASSERT_FALSE(config);
  EXPECT_EQ(config.errors().size(), 5000u);
  EXPECT_EQ(config.errors().back().where, "run.toml:5002");
}

// Random pieces of TOML: every text that is accepted must survive a round trip.
RC_GTEST_PROP(Hostile, RandomTextsAreRefusedOrUnderstood, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>(
          "[schedule]\n", "[run]\n", "[train]\n", "seed = 3\n", "depth = 2\n",
          "micros = 2\n", "micro_batch = 3\n", "scale = \"halving\"\n",
          "dir = ''\n", "trace = true\n", "dir", ".", " = ", "\n", "[", "]",
          "{", "}", "\"", "'''", "1", "-", "e", "0x", "nan", "#", "\\", "\xff",
          "\xc3\xa9", std::string(1, '\0')));
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  const std::string model = "[model]\npreset = \"gpt2-tiny\"\n";
  for (const auto& [file, overrides] :
       {std::pair(model + text, std::vector<std::string>()),
        std::pair(model, std::vector<std::string>{"run.dir=" + text}),
        std::pair(text, std::vector<std::string>{text})}) {
    const auto config = parse_run_config(file, "run.toml", overrides);
    RC_CLASSIFY(config.ok());
    if (!config) continue;
    const auto again = parse_run_config(print_run_config(*config), "again", {});
    RC_ASSERT(again.ok());
    RC_ASSERT(*again == *config);
  }
}

}  // namespace
}  // namespace chimera
