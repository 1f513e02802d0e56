#include "chimera/files/safetensors.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "chimera/files/hf_files_for_tests.h"
#include "chimera/files/safetensors_write.h"

namespace chimera {
namespace {

TEST(SafetensorsFile, RefusesWhatIsNoFile) {
  const std::string folder = new_folder();
  EXPECT_EQ(codes_of(SafetensorsFile::open(folder + "/none")), "E405");
  EXPECT_EQ(codes_of(SafetensorsFile::open(folder)), "E405");
  ASSERT_EQ(mkfifo((folder + "/pipe").c_str(), 0600), 0);
  EXPECT_EQ(codes_of(SafetensorsFile::open(folder + "/pipe")), "E405");
  write_file(folder + "/empty", "");
  EXPECT_EQ(codes_of(SafetensorsFile::open(folder + "/empty")), "E530");
}

TEST(SafetensorsFile, OutlivesMoves) {
  const std::string path = new_folder() + "/m.safetensors";
  const OwnedTensor tensor{"w", {2}, {1, 2}};
  write_safetensors(path, views({tensor}), {{"format", "pt"}});
  auto opened = SafetensorsFile::open(path);
  ASSERT_TRUE(opened);
  SafetensorsFile first = std::move(opened).value();
  const SafetensorsFile file = std::move(first);
  ASSERT_NE(file.find("w"), nullptr);
  EXPECT_EQ(file.find("v"), nullptr);
  EXPECT_EQ(file.metadata().at("format"), "pt");
  std::vector<float> values(2);
  file.copy_as_float(*file.find("w"), values);
  EXPECT_EQ(values, tensor.values);
}

TEST(SafetensorsFile, PadsTheHeaderAndAlignsTheData) {
  const std::string path = new_folder() + "/m.safetensors";
  const std::string bytes = "abcdefgh";
  const std::vector<TensorView> tensors = {
      {"odd", TensorType::kU8, {3}, bytes_of(bytes).first(3)},
      {"wide", TensorType::kF64, {1}, bytes_of(bytes)}};
  write_safetensors(path, tensors);
  const std::string text = *read_file(path);
  std::uint64_t length = 0;
  std::memcpy(&length, text.data(), 8);
  EXPECT_EQ(length % 8, 0U);
  EXPECT_EQ(text.size(), 8 + length + 11);
  const auto file = SafetensorsFile::open(path);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->find("wide")->begin, 0U);
}

TEST(SafetensorsFile, RefusesToWriteContradictions) {
  const std::string path = new_folder() + "/m.safetensors";
  const OwnedTensor short_one{"w", {3}, {1, 2}};
  EXPECT_THROW(write_safetensors(path, views({short_one})), InternalError);
  const OwnedTensor tensor{"w", {2}, {1, 2}};
  EXPECT_THROW(write_safetensors(path, views({tensor, tensor})), InternalError);
  EXPECT_THROW(write_safetensors("/none/m", views({tensor})), IoError);
  EXPECT_FALSE(std::filesystem::exists(path));
}

// Reads one two-byte element at an odd offset, converted to float.
float converted(const char* type, std::uint16_t bits) {
  const std::string path = new_folder() + "/m.safetensors";
  std::string text = file_text(
      std::string(R"({"o":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)") +
          R"("v":{"dtype":")" + type +
          R"(","shape":[1],"data_offsets":[1,3]}})",
      3);
  std::memcpy(text.data() + text.size() - 2, &bits, 2);
  write_file(path, text);
  const auto file = SafetensorsFile::open(path);
  EXPECT_TRUE(file.ok()) << codes_of(file);
  float value = 0;
  file->copy_as_float(*file->find("v"), {&value, 1});
  double wide = 0;
  file->copy_as_double(*file->find("v"), {&wide, 1});
  EXPECT_TRUE(std::isnan(value) ? std::isnan(wide) : wide == value);
  return value;
}

TEST(SafetensorsConvert, HalfPrecision) {
  EXPECT_EQ(converted("F16", 0x3c00), 1);
  EXPECT_EQ(converted("F16", 0xc000), -2);
  EXPECT_EQ(converted("F16", 0x3555), 0x1.554p-2F);
  EXPECT_EQ(converted("F16", 0x7bff), 65504);
  EXPECT_EQ(converted("F16", 0x0400), 0x1p-14F);
  EXPECT_EQ(converted("F16", 0x03ff), 0x3ffp-24F);
  EXPECT_EQ(converted("F16", 0x8001), -0x1p-24F);
  EXPECT_TRUE(std::signbit(converted("F16", 0x8000)));
  EXPECT_EQ(converted("F16", 0xfc00), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(converted("F16", 0x7e00)));
}

TEST(SafetensorsConvert, BrainFloat) {
  EXPECT_EQ(converted("BF16", 0x3f80), 1);
  EXPECT_EQ(converted("BF16", 0xc049), -3.140625F);
  EXPECT_EQ(converted("BF16", 0x0001), 0x1p-133F);
  EXPECT_TRUE(std::isnan(converted("BF16", 0x7fc0)));
}

TEST(SafetensorsConvert, DoublesAndTheCallersDuties) {
  const std::string path = new_folder() + "/m.safetensors";
  const std::vector<double> stored = {0.1, -1e300};
  const std::vector<std::int64_t> whole = {1, 2};
  write_safetensors(
      path, std::vector<TensorView>{
                {"d", TensorType::kF64, {2}, std::as_bytes(std::span(stored))},
                {"i", TensorType::kI64, {2}, std::as_bytes(std::span(whole))}});
  const auto file = SafetensorsFile::open(path);
  ASSERT_TRUE(file);
  std::vector<double> doubles(2);
  file->copy_as_double(*file->find("d"), doubles);
  EXPECT_EQ(doubles, stored);
  std::vector<float> floats(2);
  file->copy_as_float(*file->find("d"), floats);
  EXPECT_EQ(floats[0], 0.1F);
  EXPECT_EQ(floats[1], -std::numeric_limits<float>::infinity());
  EXPECT_THROW(file->copy_as_float(*file->find("i"), floats), InternalError);
  floats.resize(1);
  EXPECT_THROW(file->copy_as_float(*file->find("d"), floats), InternalError);
}

// All names, types, shapes and bytes are read back as written.
RC_GTEST_PROP(SafetensorsFile, RoundTrips, ()) {
  static const std::string folder = new_folder();
  const auto names = *rc::gen::unique<std::vector<std::string>>(
      rc::gen::container<std::string>(rc::gen::element<char>(
          'a', '.', '"', '\\', '\n', '\x01', '\x7f', '/', '{', '\xc3')));
  std::vector<TensorView> tensors;
  std::vector<std::string> contents;
  contents.reserve(names.size());
  for (const std::string& name : names) {
    TensorView tensor{.name = name};
    tensor.type = static_cast<TensorType>(*rc::gen::inRange(0, 10));
    tensor.shape =
        *rc::gen::resize(3, rc::gen::container<std::vector<std::int64_t>>(
                                rc::gen::inRange<std::int64_t>(0, 5)));
    contents.emplace_back(*tensor_bytes(tensor.type, tensor.shape),
                          *rc::gen::arbitrary<char>());
    tensor.data = bytes_of(contents.back());
    tensors.push_back(tensor);
  }
  const auto metadata = *rc::gen::container<SafetensorsMetadata>(
      rc::gen::arbitrary<std::string>(), rc::gen::string<std::string>());
  write_safetensors(folder + "/m", tensors, metadata);
  const auto file = SafetensorsFile::open(folder + "/m");
  RC_ASSERT(file.ok());
  RC_ASSERT(file->tensors().size() == tensors.size());
  RC_ASSERT(file->metadata() == metadata);
  for (const TensorView& tensor : tensors) {
    const TensorInfo* info = file->find(tensor.name);
    RC_ASSERT(info != nullptr);
    RC_ASSERT(info->type == tensor.type);
    RC_ASSERT(info->shape == tensor.shape);
    RC_ASSERT(std::ranges::equal(file->data(*info), tensor.data));
  }
}

}  // namespace
}  // namespace chimera
