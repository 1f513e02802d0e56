#include "chimera/files/hf_write.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <filesystem>

#include "chimera/files/hf_models_for_tests.h"

namespace chimera {
namespace {

namespace fs = std::filesystem;

const HfShape kShape = tiny_shape(ModelKind::kGpt2, true);
const std::vector<OwnedTensor> kTensors = tensors_of(expected_gpt2(true));

size_t entries(const std::string& folder) {
  return static_cast<size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(HfWrite, RefusesToTouchWhatIsThere) {
  const std::string folder = new_folder();
  write_file(folder + "/file", "mine");
  for (const std::string& path : {folder, folder + "/", folder + "/file"}) {
    const Diagnostics errors =
        write_hf_directory(path, kShape, views(kTensors));
    ASSERT_EQ(errors.size(), 1U);
    EXPECT_EQ(errors[0].code, "E543");
  }
  EXPECT_EQ(entries(folder), 1U);
}

TEST(HfWrite, FillsAnEmptyFolderAndMakesMissingOnes) {
  const std::string folder = new_folder();
  EXPECT_TRUE(write_hf_directory(folder, kShape, views(kTensors)).empty());
  EXPECT_EQ(entries(folder), 2U);
  const std::string deep = new_folder() + "/a/b/";
  EXPECT_TRUE(write_hf_directory(deep, kShape, views(kTensors)).empty());
  EXPECT_EQ(entries(deep), 2U);
  EXPECT_EQ(entries(fs::path(deep).parent_path().parent_path()), 1U);
}

TEST(HfWrite, FollowsALink) {
  const std::string folder = new_folder();
  fs::create_directory(folder + "/real");
  fs::create_directory_symlink("real", folder + "/link");
  EXPECT_TRUE(
      write_hf_directory(folder + "/link", kShape, views(kTensors)).empty());
  EXPECT_TRUE(fs::is_symlink(folder + "/link"));
  EXPECT_EQ(entries(folder + "/real"), 2U);
}

TEST(HfWrite, LeavesNothingBehindWhenItFails) {
  const std::string folder = new_folder();
  std::vector<TensorView> twice = views(kTensors);
  twice.push_back(twice[0]);
  EXPECT_THROW((void)write_hf_directory(folder + "/m", kShape, twice),
               InternalError);
  EXPECT_EQ(entries(folder), 0U);
  write_file(folder + "/file", "");
  EXPECT_THROW((void)write_hf_directory(folder + "/file/m", kShape, twice),
               IoError);
}

TEST(HfWrite, CutsShardsAtTheLimit) {
  const std::string path = new_folder() + "/m";
  const std::vector<OwnedTensor> tensors = {{"a", {4}, {1, 2, 3, 4}},
                                            {"b", {1}, {5}},
                                            {"c", {1}, {6}},
                                            {"d", {9}, std::vector<float>(9)}};
  ASSERT_TRUE(
      write_hf_directory(path, kShape, views(tensors), {.max_shard_bytes = 20})
          .empty());
  const auto names = [&](int shard) {
    const auto file = SafetensorsFile::open(
        path + "/model-0000" + std::to_string(shard) + "-of-00003.safetensors");
    EXPECT_TRUE(file.ok());
    std::string all;
    for (const TensorInfo& info : file->tensors()) all += info.name;
    return all;
  };
  EXPECT_EQ(names(1) + "|" + names(2) + "|" + names(3), "ab|c|d");
  EXPECT_FALSE(fs::exists(path + "/model.safetensors"));
}

// transformers adds the decoder's bias in an untied BERT.
TEST(HfWrite, GivesAnUntiedBertItsBiasUnderBothNames) {
  const std::string path = new_folder() + "/m";
  const auto expected = expected_bert(false);
  const auto tensors = tensors_of(expected);
  ASSERT_TRUE(write_hf_directory(path, tiny_shape(ModelKind::kBert, false),
                                 views(tensors))
                  .empty());
  const auto directory = HfDirectory::open(path);
  ASSERT_TRUE(directory);
  EXPECT_EQ(directory->tensors().size(), expected.size() + 1);
  EXPECT_TRUE(match_tensors(*directory, expected).ok());
}

// Every value is read back, for any division into shards.
RC_GTEST_PROP(HfWrite, RoundTrips, ()) {
  const std::string path = new_folder() + "/m";
  const bool bert = *rc::gen::arbitrary<bool>();
  const bool tied = *rc::gen::arbitrary<bool>();
  const auto expected = bert ? expected_bert(tied) : expected_gpt2(tied);
  const auto tensors = tensors_of(expected);
  const HfShape shape =
      tiny_shape(bert ? ModelKind::kBert : ModelKind::kGpt2, tied);
  RC_ASSERT(
      write_hf_directory(path, shape, views(tensors),
                         {.max_shard_bytes = *rc::gen::inRange<size_t>(0, 600)})
          .empty());
  const auto directory = HfDirectory::open(path);
  RC_ASSERT(directory.ok());
  const auto matched = match_tensors(*directory, expected);
  RC_ASSERT(matched.ok());
  for (size_t i = 0; i < tensors.size(); ++i) {
    RC_ASSERT(floats_of(matched->tensors[i]) == tensors[i].values);
  }
  fs::remove_all(fs::path(path).parent_path());
}

}  // namespace
}  // namespace chimera
