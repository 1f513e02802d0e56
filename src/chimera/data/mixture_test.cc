#include "chimera/data/mixture.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "chimera/data/files_for_tests.h"

namespace chimera {
namespace {

std::vector<std::int64_t> any_sizes() {
  const auto sizes = *rc::gen::container<std::vector<std::int64_t>>(
      *rc::gen::inRange<size_t>(1, 5), rc::gen::inRange<std::int64_t>(1, 40));
  return sizes;
}

RC_GTEST_PROP(Mixture, WithoutWeightsAnEpochIsAPermutationOfAllSamples, ()) {
  const std::vector<std::int64_t> sizes = any_sizes();
  const Mixture mixture({.seed = *rc::gen::inRange(0, 100), .sizes = sizes});
  std::int64_t total = 0;
  for (const std::int64_t size : sizes) total += size;
  RC_ASSERT(mixture.size() == total);
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    std::set<std::int64_t> seen;
    for (std::int64_t i = 0; i < total; ++i) {
      const Draw draw = mixture.draw(epoch * total + i);
      RC_ASSERT(draw.epoch == epoch);
      seen.insert(draw.sample);
    }
    RC_ASSERT(static_cast<std::int64_t>(seen.size()) == total);
    RC_ASSERT(*seen.rbegin() == total - 1);
  }
}

// Each part's share is that of its weight, and no sample comes again before all
// others of its part have come.
RC_GTEST_PROP(Mixture, WeightsAreSharesAndPartsGoRound, ()) {
  const std::vector<std::int64_t> sizes = any_sizes();
  const auto weights = *rc::gen::container<std::vector<double>>(
      sizes.size(), rc::gen::map(rc::gen::inRange(1, 50),
                                 [](int tenths) { return tenths / 10.0; }));
  const Mixture mixture({.sizes = sizes, .weights = weights});
  std::vector<std::int64_t> ends;
  double all = 0;
  std::int64_t total = 0;
  for (size_t part = 0; part < sizes.size(); ++part) {
    ends.push_back(total += sizes[part]);
    all += weights[part];
  }
  constexpr std::int64_t kEpochs = 20;
  std::map<std::int64_t, std::int64_t> uses;
  std::set<std::pair<std::int64_t, std::int64_t>> keys;
  for (std::int64_t n = 0; n < kEpochs * mixture.size(); ++n) {
    const Draw draw = mixture.draw(n);
    ++uses[draw.sample];
    keys.emplace(draw.epoch, draw.sample);
  }
  // All pairs (epoch, sample) differ, because masks are drawn from them.
  RC_ASSERT(static_cast<std::int64_t>(keys.size()) == kEpochs * mixture.size());
  for (size_t part = 0; part < sizes.size(); ++part) {
    std::int64_t sum = 0;
    std::int64_t least = 1 << 30;
    std::int64_t most = 0;
    for (std::int64_t s = ends[part] - sizes[part]; s < ends[part]; ++s) {
      sum += uses[s];
      least = std::min(least, uses[s]);
      most = std::max(most, uses[s]);
    }
    const double share = static_cast<double>(total) * weights[part] / all;
    RC_ASSERT(std::abs(static_cast<double>(sum) / kEpochs - share) <= 1.0);
    RC_ASSERT(most - least <= 1);
  }
}

TEST(Mixture, FilesOfAListAndAPatternAreOneCorpus) {
  const std::string a = make_file("1.txt", "abcdefg");      // 2 samples
  const std::string b = make_file("2.txt", "hijklmnopqr");  // 3
  DataOptions options{.paths = {a, b},
                      .order = SampleOrder::kSequential,
                      .seq = 3,
                      .vocab = 256,
                      .global_batch = 5};
  const auto list = opened(options);
  EXPECT_EQ(list->num_samples(), 5);
  EXPECT_EQ(list->num_tokens(), 18);
  const Batch all = list->read(0, 0, 5);
  EXPECT_EQ(std::string(all.inputs.begin(), all.inputs.end()),
            "abcdefhijklmnop");
  options.paths = {a.substr(0, a.size() - 5) + "?.txt"};
  EXPECT_EQ(opened(options)->read(0, 0, 5), all);
  options.paths = {a + "*.none"};
  EXPECT_EQ(mistakes_of(options),
            "error[E501] FILE: the pattern fits no file; hint: check the "
            "folder and the ending");
}

TEST(Mixture, MistakesOfAllFilesAreToldAtOnce) {
  const std::string text = mistakes_of(
      {.paths = {"/nowhere/a.txt", make_file("b.bin", "abc"), "/nowhere/c"},
       .seq = 1,
       .vocab = 256});
  EXPECT_NE(text.find("E501] FILE"), std::string::npos) << text;
  EXPECT_NE(text.find("E503"), std::string::npos) << text;
  EXPECT_NE(text.find("/nowhere/c"), std::string::npos) << text;
}

TEST(Mixture, AFractionOfEachFileIsKeptToEvaluate) {
  DataOptions options{.paths = {make_file("a.txt", "abcdefghijk"),  // 10
                                make_file("b.txt", "ABCDE")},       // 4
                      .order = SampleOrder::kSequential,
                      .eval_fraction = 0.25,
                      .seq = 1,
                      .vocab = 256,
                      .global_batch = 4};
  // The fraction is taken from each file, not from all files together.
  const auto text = [](const BatchSource& source) {
    std::string inputs;
    for (std::int64_t step = 0; step < source.num_samples(); step += 4) {
      const Batch batch = source.read(step / 4, 0, 4);
      inputs.append(batch.inputs.begin(), batch.inputs.end());
    }
    return inputs.substr(0, static_cast<size_t>(source.num_samples()));
  };
  EXPECT_EQ(text(*opened(options)), "abcdefgABC");
  options.part = DataPart::kEvaluation;
  EXPECT_EQ(text(*opened(options)), "hijD");
  options.eval_fraction = 0.01;
  EXPECT_EQ(mistakes_of(options),
            "error[E504] FILE: 14 samples leave none to evaluate with "
            "data.eval_fraction = 0.01; hint: raise it, or use more data");
}

}  // namespace
}  // namespace chimera
