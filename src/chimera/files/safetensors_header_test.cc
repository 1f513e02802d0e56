#include <gtest/gtest.h>

#include "chimera/files/hf_files_for_tests.h"
#include "chimera/files/safetensors.h"

namespace chimera {
namespace {

Result<SafetensorsHeader> parse(const std::string& header, size_t data_bytes) {
  return parse_safetensors_header(bytes_of(file_text(header, data_bytes)),
                                  "m.safetensors");
}

std::string codes(const std::string& header, size_t data_bytes) {
  return codes_of(parse(header, data_bytes));
}

std::string tensor(const std::string& name, const std::string& type,
                   const std::string& shape, const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + type + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}";
}

TEST(SafetensorsHeader, ReadsTensorsInTheOrderOfTheirData) {
  const auto header =
      parse("{" + tensor("b", "I8", "[2]", "[8,10]") + "," +
                tensor("a", "F32", "[1, 2]", "[0,8]") + "," +
                tensor("none", "F64", "[0,9223372036854775807]", "[8,8]") +
                ",\"__metadata__\":{\"format\":\"pt\"}}   ",
            10);
  ASSERT_TRUE(header) << codes_of(header);
  ASSERT_EQ(header->tensors.size(), 3U);
  EXPECT_EQ(header->tensors[0],
            (TensorInfo{"a", TensorType::kF32, {1, 2}, 0, 8}));
  EXPECT_EQ(header->tensors[1].name, "none");
  EXPECT_EQ(header->tensors[2], (TensorInfo{"b", TensorType::kI8, {2}, 8, 10}));
  EXPECT_EQ(header->metadata.at("format"), "pt");
}

TEST(SafetensorsHeader, ReadsAScalarAndNothingAtAll) {
  EXPECT_EQ(codes("{" + tensor("s", "F64", "[]", "[0,8]") + "}", 8), "");
  EXPECT_EQ(codes("{}", 0), "");
}

TEST(SafetensorsHeader, KnowsEveryType) {
  for (const char* name :
       {"F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U8", "BOOL"}) {
    const TensorType type = *find_tensor_type(name);
    EXPECT_EQ(type_name(type), name);
    const std::string end = std::to_string(type_bytes(type));
    EXPECT_EQ(codes("{" + tensor("t", name, "[1]", "[0," + end + "]") + "}",
                    type_bytes(type)),
              "");
  }
  EXPECT_EQ(codes("{" + tensor("t", "F8_E4M3", "[1]", "[0,1]") + "}", 1),
            "E531");
}

TEST(SafetensorsHeader, RefusesABrokenBeginning) {
  const auto code = [](const std::string& file) {
    return codes_of(parse_safetensors_header(bytes_of(file), "m"));
  };
  EXPECT_EQ(code(""), "E530");
  EXPECT_EQ(code("1234567"), "E530");
  EXPECT_EQ(code(std::string(8, '\xff')), "E530");
  EXPECT_EQ(code(std::string(8, '\0')), "E530");
  const std::string sound = file_text("{}", 0);
  EXPECT_EQ(code(sound), "");
  EXPECT_EQ(code(sound.substr(0, sound.size() - 1)), "E530");
  EXPECT_EQ(codes(" {}", 0), "E530");
  EXPECT_EQ(codes("[]", 0), "E530");
}

// The file is long enough for this header; only the limit refuses it.
TEST(SafetensorsHeader, RefusesAHeaderAboveTheLimit) {
  std::string header = "{}";
  header.resize(100'000'000, ' ');
  EXPECT_EQ(codes(header, 0), "");
  header += ' ';
  EXPECT_EQ(codes(header, 0), "E530");
}

TEST(SafetensorsHeader, RefusesBrokenJson) {
  EXPECT_EQ(codes("{", 0), "E520");
  EXPECT_EQ(codes("{} x", 0), "E520");
  EXPECT_EQ(codes("{\"a\":3}", 0), "E521");
  EXPECT_EQ(codes("{\"a\":{\"dtype\":1,\"shape\":[\"2\"]}}", 0), "E521 E521");
  EXPECT_EQ(codes("{\"__metadata__\":{\"a\":1}}", 0), "E521");
  EXPECT_EQ(codes("{\"__metadata__\":\"a\"}", 0), "E521");
}

TEST(SafetensorsHeader, RefusesRepeatedAndUnknownKeys) {
  const std::string one = tensor("a", "U8", "[0]", "[0,0]");
  EXPECT_EQ(codes("{" + one + "," + one + "}", 0), "E523");
  EXPECT_EQ(codes("{\"__metadata__\":{\"a\":\"\",\"a\":\"\"}}", 0), "E523");
  EXPECT_EQ(codes("{\"__metadata__\":{},\"__metadata__\":{}}", 0), "E523");
  EXPECT_EQ(codes("{\"a\":{\"type\":\"U8\"}}", 0), "E523");
  EXPECT_EQ(codes("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\"}}", 0), "E523");
  EXPECT_EQ(codes("{\"a\":{\"dtype\":\"U8\",\"shape\":[0]}}", 0), "E524");
}

TEST(SafetensorsHeader, RefusesShapesAndOffsetsThatDisagree) {
  const auto code = [](const char* shape, const char* offsets) {
    return codes("{" + tensor("a", "F32", shape, offsets) + "}", 8);
  };
  EXPECT_EQ(code("[2]", "[0,8]"), "");
  EXPECT_EQ(code("[3]", "[0,8]"), "E532");
  EXPECT_EQ(code("[2]", "[0,9]"), "E532");
  EXPECT_EQ(code("[2]", "[8,0]"), "E532");
  EXPECT_EQ(code("[2]", "[0]"), "E532");
  EXPECT_EQ(code("[2]", "[0,8,8]"), "E532");
  EXPECT_EQ(code("[-2]", "[0,8]"), "E522");
  EXPECT_EQ(code("[2]", "[-8,0]"), "E522");
  EXPECT_EQ(code("[9223372036854775808]", "[0,8]"), "E522");
  EXPECT_EQ(code("[4611686018427387904,4]", "[0,8]"), "E532");
  EXPECT_EQ(code("[4294967296,4294967296,2]", "[0,8]"), "E532");
  std::string many = "[2";
  for (int i = 0; i < 63; ++i) many += ",1";
  EXPECT_EQ(code((many + "]").c_str(), "[0,8]"), "");
  EXPECT_EQ(code((many + ",1]").c_str(), "[0,8]"), "E532");
}

TEST(SafetensorsHeader, RefusesHolesOverlapsAndALongerFile) {
  const auto code = [](const char* first, const char* second, size_t bytes) {
    return codes("{" + tensor("a", "U8", "[4]", first) + "," +
                     tensor("b", "U8", "[4]", second) + "}",
                 bytes);
  };
  EXPECT_EQ(code("[0,4]", "[4,8]", 8), "");
  EXPECT_EQ(code("[4,8]", "[0,4]", 8), "");
  EXPECT_EQ(code("[1,5]", "[5,9]", 9), "E533");
  EXPECT_EQ(code("[0,4]", "[5,9]", 9), "E533");
  EXPECT_EQ(code("[0,4]", "[3,7]", 7), "E533");
  EXPECT_EQ(code("[0,4]", "[0,4]", 4), "E533");
  EXPECT_EQ(code("[0,4]", "[4,8]", 9), "E533");
  EXPECT_EQ(code("[0,4]", "[4,8]", 7), "E532");
}

TEST(SafetensorsHeader, SaysFileTensorFoundAndNeeded) {
  const auto header = parse("{" + tensor("w", "F32", "[3]", "[0,8]") + "}", 8);
  ASSERT_FALSE(header);
  EXPECT_EQ(to_string(header.errors()[0]),
            "error[E532] m.safetensors:1: tensor \"w\" has 8 bytes must have "
            "12 for F32 [3]");
}

TEST(SafetensorsHeader, StopsAfterAHundredMistakes) {
  std::string header = "{\"a\":1";
  for (int i = 0; i < 1000; ++i) header += ",\"a\":1";
  EXPECT_EQ(parse(header + "}", 0).errors().size(), 100U);
}

}  // namespace
}  // namespace chimera
