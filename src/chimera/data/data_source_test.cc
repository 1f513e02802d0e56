#include "chimera/data/data_source.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <thread>

#include "chimera/data/files_for_tests.h"

namespace chimera {
namespace {

using Ids = std::vector<std::int64_t>;

TEST(DataSource, Gpt2WindowsOverlapByOne) {
  const auto source = opened({.paths = {make_file("a.txt", "abcdefghij")},
                              .order = SampleOrder::kSequential,
                              .seq = 3,
                              .vocab = 256,
                              .global_batch = 2});
  EXPECT_EQ(source->num_samples(), 3);
  EXPECT_EQ(source->num_tokens(), 10);
  EXPECT_EQ(source->read(0, 0, 2),
            (Batch{.samples = 2,
                   .seq = 3,
                   .sample_ids = {0, 1},
                   .inputs = {'a', 'b', 'c', 'd', 'e', 'f'},
                   .targets = {'b', 'c', 'd', 'e', 'f', 'g'}}));
  EXPECT_EQ(source->read(1, 0, 2).inputs, (Ids{'g', 'h', 'i', 'a', 'b', 'c'}));
  EXPECT_EQ(source->read(1, 1, 1).sample_ids, Ids{3});
  EXPECT_EQ(source->targets(5), (TargetCount{.tokens = 6, .samples = 0}));
}

TEST(DataSource, ATailTooShortIsDropped) {
  const auto samples = [](const std::string& text) {
    return opened({.paths = {make_file("a.txt", text)}, .seq = 3, .vocab = 256})
        ->num_samples();
  };
  EXPECT_EQ(samples("abcd"), 1);
  EXPECT_EQ(samples("abcdef"), 1);
  EXPECT_EQ(samples("abcdefg"), 2);
}

TEST(DataSource, AGlobalBatchMayHoldSeveralEpochs) {
  const auto source = opened({.paths = {make_file("a.txt", "abcdefghij")},
                              .seq = 3,
                              .vocab = 256,
                              .global_batch = 6,
                              .seed = 4});
  const Batch batch = source->read(1, 0, 6);
  EXPECT_EQ(batch.sample_ids, (Ids{6, 7, 8, 9, 10, 11}));
  for (const size_t begin : {0U, 3U}) {
    std::set<std::int64_t> first_tokens;
    for (size_t i = begin; i < begin + 3; ++i) {
      first_tokens.insert(batch.inputs[i * 3]);
    }
    EXPECT_EQ(first_tokens, (std::set<std::int64_t>{'a', 'd', 'g'}));
  }
}

TEST(DataSource, JsonlIsOneStream) {
  const auto source =
      opened({.paths = {make_file("a.jsonl",
                                  "{\"text\": \"ab\"}\n{\"text\": \"cd\"}\n")},
              .order = SampleOrder::kSequential,
              .seq = 4,
              .vocab = 256});
  EXPECT_EQ(source->read(0, 0, 1).inputs, (Ids{'a', 'b', '\n', 'c'}));
  EXPECT_EQ(source->read(0, 0, 1).targets, (Ids{'b', '\n', 'c', 'd'}));
}

TEST(DataSource, SamplesOutsideOfAStepAreOurOwnMistake) {
  const auto source = opened({.paths = {make_file("a.txt", "abcdefghij")},
                              .seq = 3,
                              .vocab = 256,
                              .global_batch = 2});
  EXPECT_THROW((void)source->read(0, 1, 2), InternalError);
  EXPECT_THROW((void)source->read(-1, 0, 1), InternalError);
  EXPECT_THROW((void)source->read(0, -1, 1), InternalError);
}

DataOptions arbitrary_options() {
  std::string text(static_cast<size_t>(*rc::gen::inRange(40, 400)), ' ');
  for (char& c : text) c = static_cast<char>(*rc::gen::inRange(32, 127));
  text[0] = 'a';  // blanks alone are not a document
  return {.paths = {make_file("any.txt", text)},
          .kind = *rc::gen::element(ModelKind::kGpt2, ModelKind::kBert),
          .order = *rc::gen::element(SampleOrder::kShuffled,
                                     SampleOrder::kSequential),
          .seq = *rc::gen::inRange(5, 30),
          .vocab = 256,
          .global_batch = *rc::gen::inRange(1, 12),
          .seed = *rc::gen::arbitrary<std::int64_t>()};
}

void append(Batch part, Batch& whole) {
  const auto join = [](const Ids& from, Ids& to) {
    to.insert(to.end(), from.begin(), from.end());
  };
  whole.samples += part.samples;
  join(part.sample_ids, whole.sample_ids);
  join(part.inputs, whole.inputs);
  join(part.targets, whole.targets);
  join(part.token_types, whole.token_types);
  join(part.next_sentence, whole.next_sentence);
}

RC_GTEST_PROP(DataSource, MicroBatchesAreSlicesOfTheStep, ()) {
  const DataOptions options = arbitrary_options();
  const auto source = opened(options);
  const auto step = *rc::gen::inRange<std::int64_t>(0, 1000);
  const Batch whole = source->read(step, 0, options.global_batch);
  Batch joined{.seq = options.seq};
  for (std::int64_t first = 0; first < options.global_batch;) {
    const auto count =
        *rc::gen::inRange<std::int64_t>(1, options.global_batch - first + 1);
    append(source->read(step, first, count), joined);
    first += count;
  }
  RC_ASSERT(joined == whole);
}

RC_GTEST_PROP(DataSource, CountsTheTargetsItReads, ()) {
  const DataOptions options = arbitrary_options();
  const auto source = opened(options);
  const auto step = *rc::gen::inRange<std::int64_t>(0, 1000);
  const Batch whole = source->read(step, 0, options.global_batch);
  const bool is_bert = options.kind == ModelKind::kBert;
  std::int64_t tokens = 0;
  for (const std::int64_t target : whole.targets) {
    if (target != kIgnoredTarget) ++tokens;
  }
  const TargetCount expected{.tokens = tokens,
                             .samples = is_bert ? options.global_batch : 0};
  RC_ASSERT(source->targets(step) == expected);
}

RC_GTEST_PROP(DataSource, AnotherOpeningGivesTheSame, ()) {
  const DataOptions options = arbitrary_options();
  const auto step = *rc::gen::inRange<std::int64_t>(0, 1000);
  RC_ASSERT(opened(options)->read(step, 0, options.global_batch) ==
            opened(options)->read(step, 0, options.global_batch));
}

TEST(DataSource, EveryThreadReadsTheSame) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text.push_back(static_cast<char>(i % 251));
  for (const ModelKind kind : {ModelKind::kGpt2, ModelKind::kBert}) {
    const auto source = opened({.paths = {make_file("a.txt", text)},
                                .kind = kind,
                                .seq = 16,
                                .vocab = 256,
                                .global_batch = 8});
    const auto read_all = [&] {
      std::vector<Batch> batches;
      for (std::int64_t step = 0; step < 100; ++step) {
        batches.push_back(source->read(step, 0, 8));
      }
      return batches;
    };
    const std::vector<Batch> expected = read_all();
    std::vector<std::vector<Batch>> found(4);
    std::vector<std::thread> threads;
    for (std::vector<Batch>& batches : found) {
      threads.emplace_back([&] { batches = read_all(); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::vector<Batch>& batches : found) {
      EXPECT_TRUE(batches == expected);
    }
  }
}

}  // namespace
}  // namespace chimera
