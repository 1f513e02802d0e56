#include "chimera/tokenizer/corpus/tokenize_corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "chimera/base/files.h"
#include "chimera/tokenizer/byte_alphabet.h"
#include "chimera/tokenizer/corpus/megatron_index.h"

namespace chimera {
namespace {

using testing::ElementsAre;

class Corpus : public testing::Test {
 protected:
  Corpus() { std::filesystem::create_directories(folder_); }
  ~Corpus() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ / name; }
  std::string file(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(
        std::filesystem::path(path(name)).parent_path());
    write_file(path(name), text);
    return path(name);
  }
  Result<CorpusSummary> run(const std::vector<std::string>& inputs,
                            int num_threads = 2) const {
    const auto files = find_inputs(inputs);
    if (!files) return files.errors();
    return tokenize_corpus(
        *files, tokenizer_,
        {.output = path("out.bin"), .num_threads = num_threads});
  }
  std::vector<std::uint16_t> ids() const {
    const std::string bytes = read_file(path("out.bin")).value();
    std::vector<std::uint16_t> found(bytes.size() / 2);
    std::memcpy(found.data(), bytes.data(), bytes.size());
    return found;
  }

  // A tokenizer with one token per byte, and 256 at the end of a document.
  static Tokenizer bytes() {
    TokenizerSpec spec;
    for (int byte = 0; byte < 256; ++byte) {
      spec.vocabulary[letter_of_byte(static_cast<std::uint8_t>(byte))] =
          static_cast<TokenId>(byte);
    }
    spec.added = {{.content = "<|endoftext|>", .id = 256}};
    spec.model = BpeSpec{};
    return Tokenizer::make(spec).value();
  }

  Tokenizer tokenizer_ = bytes();
  std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) /
                                  ("corpus_" + std::to_string(getpid()));
};

TEST_F(Corpus, DocumentsEnd) {
  const std::string text = file("a.txt", "hi");
  const std::string lines =
      file("b.jsonl", "{\"text\": \"x\"}\n\n{\"n\": 1, \"text\": \"\"}\n");
  const auto summary = run({text, lines});
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->documents, 3);
  EXPECT_THAT(ids(), ElementsAre('h', 'i', 256, 'x', 256, 256));
}

TEST_F(Corpus, DirectoriesAreSortedAndDeep) {
  file("d/z.txt", "z");
  file("d/a/b.txt", "b");
  file("d/.hidden/x.txt", "x");
  ASSERT_TRUE(run({path("d")}).ok());
  EXPECT_THAT(ids(), ElementsAre('b', 256, 'z', 256));
}

// One document of several pieces, and more threads than pieces.
TEST_F(Corpus, ThreadsDoNotShow) {
  std::string text;
  for (std::uint64_t i = 0; text.size() < 5'000'000; ++i) {
    text.append(1 + i * 2654435761U % 9, static_cast<char>('a' + i % 26));
    text += i % 17 == 0 ? "\n" : " ";
  }
  const std::string input = file("long.txt", text);
  for (const int num_threads : {1, 2, 7}) {
    ASSERT_TRUE(run({input, input}, num_threads).ok());
    const std::vector<std::uint16_t> found = ids();
    ASSERT_EQ(found.size(), 2 * (text.size() + 1));
    EXPECT_TRUE(std::equal(text.begin(), text.end(), found.begin()));
    EXPECT_EQ(found[text.size()], 256);
  }
}

TEST_F(Corpus, TheIndexSaysWhereDocumentsEnd) {
  std::string text;
  std::vector<std::int64_t> ends;
  for (size_t i = 0; text.size() < 3'000'000; ++i) {
    const std::string document(1 + i * 7919 % 100, 'a');
    text += document + (i % 3 == 0 ? "\n \n" : "\n\n\n");
    ends.push_back((ends.empty() ? 0 : ends.back()) +
                   static_cast<std::int64_t>(document.size()) + 1);
  }
  auto files = find_inputs({file("long.txt", text)}).value();
  files[0].documents = DocumentKind::kBlankLines;
  for (const int num_threads : {1, 5}) {
    const auto summary = tokenize_corpus(
        files, tokenizer_,
        {.output = path("out.bin"), .num_threads = num_threads});
    ASSERT_TRUE(summary.ok());
    const auto index = parse_megatron_index(
        read_file(index_path(path("out.bin"))).value(), "out.idx");
    ASSERT_TRUE(index.ok());
    EXPECT_EQ(index->bytes_per_id, 2);
    EXPECT_EQ(index->tokens, summary->tokens);
    EXPECT_TRUE(index->document_ends == ends);
  }
}

TEST_F(Corpus, MistakesLeaveNothingBehind) {
  const auto code_of = [&](const std::string& input) {
    const auto summary = run({input});
    return summary.ok() ? "" : summary.errors().front().code;
  };
  EXPECT_EQ(code_of(path("missing")), "E501");
  EXPECT_EQ(code_of(file("a.bin", "ab")), "E711");
  EXPECT_EQ(code_of(file("a.txt", "PAR1")), "E711");
  EXPECT_EQ(code_of(file("a.txt.gz", "no gzip")), "E712");
  EXPECT_EQ(code_of(file("a.txt.zst", "no zstd")), "E712");
  EXPECT_EQ(code_of(file("b.jsonl", "{\"text\": 1}\n")), "E508");
  EXPECT_EQ(code_of(file("c.jsonl", "{\"txt\": \"\"}\n")), "E509");
  EXPECT_EQ(code_of(file("d.jsonl", "{\"text\": \"a\"}\n{broken\n")), "E507");
  EXPECT_FALSE(std::filesystem::exists(path("out.bin")));
  EXPECT_FALSE(std::filesystem::exists(path("out.json")));
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    EXPECT_THAT(entry.path().filename().string(),
                testing::MatchesRegex("[abcd]\\.[a-z.]+"));
  }
}

TEST_F(Corpus, MistakesNameTheLine) {
  const auto summary = run({file("d.jsonl", "{\"text\": \"a\"}\n\n{}\n")});
  ASSERT_FALSE(summary.ok());
  EXPECT_EQ(summary.errors().front().where, path("d.jsonl") + ":3");
}

}  // namespace
}  // namespace chimera
