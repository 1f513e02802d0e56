// Tests text and .bin files: their tokens, and their errors.
#include "chimera/data/token_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <numeric>

#include "chimera/data/files_for_tests.h"

namespace chimera {
namespace {

std::vector<std::int64_t> tokens_of(const std::string& path, int vocab) {
  const Result<TokenFile> tokens =
      read_tokens(std::move(map_file(path)).value(), {.vocab = vocab});
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < tokens->size(); ++i) {
    ids.push_back((*tokens)[i]);
  }
  return ids;
}

using Ids = std::vector<std::int64_t>;

TEST(TokenFile, TextIsItsBytes) {
  const std::string path = make_file("a.txt", std::string("A\0\xFF\n", 4));
  EXPECT_EQ(tokens_of(path, 256), (Ids{65, 0, 255, 10}));
}

TEST(TokenFile, BinIsLittleEndianWords) {
  const std::string path = make_file("a.bin", as_bin({1, 50256, 65535}));
  EXPECT_EQ(tokens_of(path, 65536), (Ids{1, 50256, 65535}));
}

TEST(TokenFile, TheEndOfTheNameTellsTheFormat) {
  EXPECT_EQ(format_of("x/train.bin"), DataFormat::kBin);
  EXPECT_EQ(format_of("x.bin/train.jsonl"), DataFormat::kJsonl);
  EXPECT_EQ(format_of("x.bin/train"), DataFormat::kText);
  EXPECT_EQ(format_of("train.json"), DataFormat::kText);
}

DataOptions gpt2(const std::string& path, int seq, int vocab) {
  return {.paths = {path}, .seq = seq, .vocab = vocab};
}

TEST(TokenFile, RefusesWhatCannotBeRead) {
  EXPECT_EQ(mistakes_of(gpt2("/nonexistent/a.txt", 4, 256)),
            "error[E501] FILE: the file cannot be read: No such file or "
            "directory; hint: check the path and its permissions");
  EXPECT_EQ(mistakes_of(gpt2(testing::TempDir(), 4, 256)),
            "error[E501] FILE: the file cannot be read: not a regular file; "
            "hint: check the path and its permissions");
  const std::string pipe = make_file("pipe", "x");
  ASSERT_EQ(unlink(pipe.c_str()), 0);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(mistakes_of(gpt2(pipe, 4, 256)),
            "error[E501] FILE: the file cannot be read: not a regular file; "
            "hint: check the path and its permissions");
  ASSERT_EQ(unlink(pipe.c_str()), 0);
}

TEST(TokenFile, RefusesAnEmptyFile) {
  for (const char* name : {"a.txt", "a.bin", "a.jsonl"}) {
    EXPECT_EQ(mistakes_of(gpt2(make_file(name, ""), 4, 256)),
              "error[E502] FILE: 0 bytes hold nothing to train on; hint: was "
              "the file written to its end?");
  }
}

TEST(TokenFile, RefusesABinOfOddSize) {
  EXPECT_EQ(mistakes_of(gpt2(make_file("a.bin", "abcde"), 1, 65536)),
            "error[E503] FILE, byte 4: 5 bytes must be an even number, two "
            "bytes a token; hint: write it as uint16; was it written to its "
            "end?");
}

TEST(TokenFile, RefusesTooFewTokens) {
  EXPECT_EQ(mistakes_of(gpt2(make_file("a.txt", "abcd"), 4, 256)),
            "error[E504] FILE: 4 tokens are too few for one sample of seq = "
            "4, which takes 5; hint: use a longer file, or lower model.seq");
  EXPECT_EQ(mistakes_of(gpt2(make_file("b.txt", "abcde"), 4, 256)), "");
}

TEST(TokenFile, NamesTheFirstIdOutOfRange) {
  std::vector<int> ids(10000);
  std::iota(ids.begin(), ids.end(), 0);
  const std::string path = make_file("a.bin", as_bin(ids));
  EXPECT_EQ(mistakes_of(gpt2(path, 4, 9000)),
            "error[E505] FILE, token 9000: id 9000 must be below vocab = "
            "9000; hint: raise model.vocab, or is this another tokenizer's "
            "file?");
  EXPECT_EQ(mistakes_of(gpt2(path, 4, 10000)), "");
  ids.back() = 65535;
  const std::string last = make_file("last.bin", as_bin(ids));
  EXPECT_EQ(mistakes_of(gpt2(last, 4, 65535)),
            "error[E505] FILE, token 9999: id 65535 must be below vocab = "
            "65535; hint: raise model.vocab, or is this another tokenizer's "
            "file?");
  EXPECT_EQ(mistakes_of(gpt2(last, 4, 65536)), "");
}

TEST(TokenFile, ASmallVocabularyRefusesOnlyBytesThatOccur) {
  EXPECT_EQ(mistakes_of(gpt2(make_file("a.txt", "plain text"), 4, 128)), "");
  EXPECT_EQ(mistakes_of(gpt2(make_file("b.txt", "caf\xC3\xA9!"), 4, 128)),
            "error[E505] FILE, token 3: id 195 must be below vocab = 128; "
            "hint: raise model.vocab, or is this another tokenizer's file?");
}

TEST(TokenFile, OneThatIsTrustedIsNotReadThrough) {
  const std::string path = make_file("a.bin", as_bin({1, 65535}));
  const auto read = [&](Scan scan) {
    return read_tokens(std::move(map_file(path)).value(),
                       {.vocab = 10, .scan = scan});
  };
  EXPECT_FALSE(read(Scan::kWhole));
  ASSERT_TRUE(read(Scan::kTrusted));
  EXPECT_EQ(read(Scan::kTrusted)->size(), 2);
}

}  // namespace
}  // namespace chimera
