#include "chimera/files/hf_directory.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "chimera/files/hf_index.h"
#include "chimera/files/hf_models_for_tests.h"
#include "chimera/files/hf_write.h"

namespace chimera {
namespace {

namespace fs = std::filesystem;

const HfShape kShape = tiny_shape(ModelKind::kGpt2, true);

std::string written(const HfWriteOptions& options = {}) {
  const std::string path = new_folder() + "/m";
  const auto tensors = tensors_of(expected_gpt2(true));
  EXPECT_TRUE(
      write_hf_directory(path, kShape, views(tensors), options).empty());
  return path;
}

std::string codes(const std::string& path) {
  return codes_of(HfDirectory::open(path));
}

TEST(HfDirectory, OpensOneFileOrShards) {
  for (const HfWriteOptions& options :
       {HfWriteOptions{}, HfWriteOptions{.max_shard_bytes = 64}}) {
    const std::string path = written(options);
    EXPECT_EQ(fs::exists(path + "/model.safetensors"),
              options.max_shard_bytes > 64);
    auto opened = HfDirectory::open(path);
    ASSERT_TRUE(opened) << codes_of(opened);
    const HfDirectory directory = std::move(opened).value();
    EXPECT_EQ(directory.shape(), kShape);
    EXPECT_EQ(directory.tensors().size(), expected_gpt2(true).size());
    const auto matched = match_tensors(directory, expected_gpt2(true));
    ASSERT_TRUE(matched) << codes_of(matched);
    EXPECT_TRUE(matched->fresh.empty());
    const auto tensors = tensors_of(expected_gpt2(true));
    for (size_t i = 0; i < tensors.size(); ++i) {
      EXPECT_EQ(floats_of(matched->tensors[i]), tensors[i].values);
    }
  }
}

TEST(HfDirectory, PrefersTheSingleFile) {
  const std::string path = written();
  write_file(path + "/model.safetensors.index.json", "not read");
  EXPECT_EQ(codes(path), "");
}

TEST(HfDirectory, RefusesWhatIsNoDirectoryOfAModel) {
  EXPECT_EQ(codes("/none"), "E528");
  EXPECT_EQ(codes(new_folder()), "E528");
  const std::string path = written();
  EXPECT_EQ(codes(path + "/config.json"), "E528");
  fs::remove(path + "/model.safetensors");
  EXPECT_EQ(codes(path), "E528");
  write_file(path + "/pytorch_model.bin", "");
  EXPECT_EQ(codes(path), "E529");
  EXPECT_NE(
      HfDirectory::open(path).errors()[0].hint.find("safe_serialization=True"),
      std::string::npos);
  write_file(path + "/config.json", "{}");
  EXPECT_EQ(codes(path), "E525");
  fs::remove(path + "/config.json");
  fs::create_directory(path + "/config.json");
  EXPECT_EQ(codes(path), "E405");
}

TEST(HfDirectory, RefusesBrokenFiles) {
  const std::string path = written();
  write_file(path + "/model.safetensors", "short");
  EXPECT_EQ(codes(path), "E530");
}

TEST(HfDirectory, RefusesMoreLayersThanTensors) {
  const std::string path = written();
  HfShape deep = kShape;
  deep.model.layers = 1000000;
  write_file(path + "/config.json", hf_config_text(deep));
  EXPECT_EQ(codes(path), "E522");
}

TEST(HfDirectory, RefusesAnIndexThatContradictsItsShards) {
  const std::string path = written({.max_shard_bytes = 64});
  const std::string index_path = path + "/model.safetensors.index.json";
  const HfIndex sound = *parse_hf_index(*read_file(index_path), "i");
  const auto codes_with = [&](const HfIndex& index) {
    write_file(index_path, hf_index_text(index, 0));
    return codes(path);
  };
  EXPECT_EQ(codes_with(sound), "");
  HfIndex index = sound;
  index["ghost"] = sound.begin()->second;
  EXPECT_EQ(codes_with(index), "E535");
  index = sound;
  index.erase(index.begin());
  EXPECT_EQ(codes_with(index), "E535");
  index = sound;
  std::swap(index.begin()->second, index.rbegin()->second);
  EXPECT_EQ(codes_with(index), "E535 E535 E535 E535");
  index = sound;
  index.begin()->second = "model-00009-of-00009.safetensors";
  EXPECT_EQ(codes_with(index), "E405");
  index = sound;
  for (int i = 0; i < 100; ++i) {
    index["ghost" + std::to_string(i)] = sound.begin()->second;
  }
  EXPECT_EQ(codes_with(index).size(), std::string("E535 ").size() * 20 - 1);
  write_file(index_path, "{");
  EXPECT_EQ(codes(path), "E520");
}

}  // namespace
}  // namespace chimera
