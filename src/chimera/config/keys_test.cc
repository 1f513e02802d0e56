#include "chimera/config/keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace chimera {
namespace {

using testing::ElementsAre;

TEST(Keys, NoNameAndNoMemberStandsTwice) {
  RunConfig config;
  std::set<std::string> names;
  std::set<const void*> members;
  for (const ConfigKey& key : config_keys()) {
    EXPECT_TRUE(names.insert(full_name(key)).second) << full_name(key);
    const void* member =
        std::visit([](const auto* pointer) -> const void* { return pointer; },
                   key.field(config));
    EXPECT_TRUE(members.insert(member).second) << full_name(key);
  }
}

TEST(Keys, SectionsStandTogether) {
  EXPECT_THAT(section_names(),
              ElementsAre("model", "schedule", "train", "data", "run"));
  EXPECT_THAT(key_names("data"),
              ElementsAre("path", "eval_path", "order", "tokenizer",
                          "token_type", "eval_fraction", "weights", "pack"));
  EXPECT_THAT(key_names("dta"), ElementsAre());
}

TEST(Keys, FindsByBothNames) {
  ASSERT_NE(find_key("train", "lr"), nullptr);
  EXPECT_EQ(full_name(*find_key("train", "lr")), "train.lr");
  EXPECT_EQ(find_key("run", "lr"), nullptr);
  EXPECT_THAT(sections_with("lr"), ElementsAre("train"));
  EXPECT_THAT(sections_with("lrr"), ElementsAre());
}

TEST(Keys, ChoicesOfEnumerationsAndTexts) {
  EXPECT_THAT(choices_of(*find_key("train", "on_nan")),
              ElementsAre("stop", "skip"));
  EXPECT_THAT(choices_of(*find_key("schedule", "sync")),
              ElementsAre("eager-opt", "eager", "end", "ddp", "blocking"));
  EXPECT_THAT(choices_of(*find_key("data", "path")), ElementsAre());
}

TEST(Keys, UseDependsOnTheKind) {
  const ConfigKey& hidden = *find_key("model", "hidden");
  const ConfigKey& forward = *find_key("model", "forward_ms");
  const ConfigKey& depth = *find_key("schedule", "depth");
  EXPECT_TRUE(is_used_by(hidden, ModelKind::kBert));
  EXPECT_FALSE(is_used_by(hidden, ModelKind::kEmulated));
  EXPECT_FALSE(is_used_by(forward, ModelKind::kGpt2));
  EXPECT_TRUE(is_used_by(forward, ModelKind::kEmulated));
  EXPECT_TRUE(is_used_by(depth, ModelKind::kEmulated));
}

TEST(Keys, EnumeratorsMatchTheirNames) {
  EXPECT_EQ(name_of(ModelKind::kEmulated), "emulated");
  EXPECT_EQ(name_of(OptimizerKind::kSgd), "sgd");
  EXPECT_EQ(name_of(LrDecay::kCosine), "cosine");
  EXPECT_EQ(name_of(OnNan::kSkip), "skip");
  EXPECT_EQ(name_of(VoteMode::kLate), "late");
  EXPECT_EQ(name_of(Precision::kBf16), "bf16");
  EXPECT_EQ(name_of(SampleOrder::kSequential), "sequential");
  EXPECT_EQ(name_of(TransportKind::kMpi), "mpi");
}

}  // namespace
}  // namespace chimera
