#include "chimera/data/tokenized_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "chimera/data/files_for_tests.h"
#include "chimera/tokenizer/corpus/corpus_description.h"
#include "chimera/tokenizer/open_tokenizer.h"

namespace chimera {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<std::int64_t>;
using testing::HasSubstr;

// Keeps the files of a test in a folder that is deleted afterwards.
class TokenizedTextTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    write_file(vocabulary_,
               "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\none\ntwo\nthree\nfour\n");
  }
  void TearDown() override {
    chmod(folder_.c_str(), 0700);
    fs::remove_all(folder_);
  }

  std::string make(const std::string& name, std::string_view content) {
    write_file(folder_ + name, content);
    return folder_ + name;
  }
  DataOptions options(const std::string& path) const {
    return {.paths = {path},
            .tokenizer = vocabulary_,
            .order = SampleOrder::kSequential,
            .seq = 3,
            .vocab = 9,
            .global_batch = 1};
  }

  const std::string folder_ =
      testing::TempDir() + "chimera_tokenized_" +
      testing::UnitTest::GetInstance()->current_test_info()->name() + "/";
  const std::string vocabulary_ = folder_ + "vocab.txt";
};

TEST_F(TokenizedTextTest, TextAndJsonlBecomeIds) {
  const std::string text = make("a.txt", "One two\n\nthree four five");
  EXPECT_EQ(opened(options(text))->read(0, 0, 1).inputs, (Ids{5, 6, 7}));
  EXPECT_EQ(opened(options(text))->read(0, 0, 1).targets, (Ids{6, 7, 8}));
  const std::string lines =
      make("a.jsonl", "{\"text\": \"four\"}\n{\"text\": \"three two one\"}\n");
  EXPECT_EQ(opened(options(lines))->read(0, 0, 1).inputs, (Ids{8, 7, 6}));
}

TEST_F(TokenizedTextTest, IdsAreKeptBesideTheTextUntilItChanges) {
  const std::string text = make("a.txt", "one two three four");
  const auto first = [&] {
    return opened(options(text))->read(0, 0, 1).inputs;
  };
  EXPECT_EQ(first(), (Ids{5, 6, 7}));
  const std::string kept = text + ".tokens.bin";
  const auto written = fs::last_write_time(kept);
  EXPECT_EQ(first(), (Ids{5, 6, 7}));
  EXPECT_EQ(fs::last_write_time(kept), written);
  make("a.txt", "four two three one");
  EXPECT_EQ(first(), (Ids{8, 6, 7}));
  write_file(vocabulary_,
             "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ntwo\none\nthree\nfour\n");
  EXPECT_EQ(first(), (Ids{8, 5, 7}));
}

TEST_F(TokenizedTextTest, ManyMayTokenizeOneTextAtOnce) {
  std::string long_text;
  for (int i = 0; i < 20000; ++i) long_text += "one two three four ";
  const std::string text = make("a.txt", long_text);
  std::vector<std::int64_t> sizes(4);
  {
    std::vector<std::jthread> threads;
    for (std::int64_t& size : sizes) {
      threads.emplace_back(
          [&] { size = open_data(options(text)).value()->num_tokens(); });
    }
  }
  EXPECT_EQ(sizes, std::vector<std::int64_t>(4, 80000));
}

TEST_F(TokenizedTextTest, AFolderThatCannotBeWrittenToIsNoHindrance) {
  if (geteuid() == 0) {
    // Root can write anywhere, but not beside a name that is too long.
    const std::string name(250, 'a');
    const std::string text = folder_ + name;
    std::ofstream(text) << "one two three four";
    EXPECT_EQ(opened(options(text))->read(0, 0, 1).inputs, (Ids{5, 6, 7}));
    return;
  }
  const std::string text = make("a.txt", "one two three four");
  ASSERT_EQ(chmod(folder_.c_str(), 0500), 0);
  EXPECT_EQ(opened(options(text))->read(0, 0, 1).inputs, (Ids{5, 6, 7}));
  EXPECT_FALSE(fs::exists(text + ".tokens.bin"));
}

TEST_F(TokenizedTextTest, TheVocabularyMustFitTheModel) {
  DataOptions small = options(make("a.txt", "one two three four"));
  small.vocab = 8;
  EXPECT_THAT(mistakes_of(small),
              HasSubstr("a vocabulary of 9 ids is larger than model.vocab = 8; "
                        "hint: set model.vocab = 9"));
  small.tokenizer = folder_ + "nothing.json";
  EXPECT_THAT(mistakes_of(small), HasSubstr("nothing.json"));
}

TEST_F(TokenizedTextTest, ACorpusOfAnotherTokenizerIsRefused) {
  const std::string ids = make("a.bin", as_bin({5, 6, 7, 8}));
  EXPECT_EQ(mistakes_of(options(ids)), "");
  write_file(description_path(ids),
             print(CorpusDescription{.tokens = 4,
                                     .documents = 1,
                                     .vocab = 9,
                                     .tokenizer_hash = "0123456789abcdef"}));
  EXPECT_THAT(mistakes_of(options(ids)),
              HasSubstr("the tokenizer of this corpus (hash 0123456789abcdef) "
                        "is not data.tokenizer"));
}

TEST_F(TokenizedTextTest, PairsTakeTheTokenizersSpecialIds) {
  DataOptions bert = options(make("a.txt", "one two\n\nthree four"));
  bert.kind = ModelKind::kBert;
  bert.seq = 6;
  const auto source = opened(bert);
  ASSERT_EQ(source->num_samples(), 2);
  const Batch batch = source->read(1, 0, 1);
  EXPECT_EQ(batch.inputs[0], 2);
  EXPECT_EQ(batch.inputs[2], 3);
  EXPECT_EQ(batch.inputs[4], 3);
  EXPECT_EQ(batch.inputs[5], 0);
  write_file(vocabulary_, "[UNK]\n[CLS]\none\ntwo\n");
  EXPECT_THAT(
      mistakes_of(bert),
      HasSubstr("has no [SEP], [MASK], [PAD], which BERT's pairs need"));
}

}  // namespace
}  // namespace chimera
