#include "chimera/files/hf_index.h"

#include <gtest/gtest.h>

#include "chimera/files/hf_files_for_tests.h"

namespace chimera {
namespace {

std::string codes(const std::string& text) {
  return codes_of(parse_hf_index(text, "i.json"));
}

std::string codes_of_name(const std::string& name) {
  return codes(R"({"weight_map": {"w": ")" + name + "\"}}");
}

TEST(HfIndex, RoundTrips) {
  const HfIndex index = {{"a.\"b\"", "model-00001-of-00002.safetensors"},
                         {"c", "model-00002-of-00002.safetensors"}};
  const auto again = parse_hf_index(hf_index_text(index, 12), "i.json");
  ASSERT_TRUE(again) << codes_of(again);
  EXPECT_EQ(*again, index);
}

TEST(HfIndex, RefusesNamesThatLeadOutOfTheDirectory) {
  EXPECT_EQ(codes_of_name("a.safetensors"), "");
  for (const char* name :
       {"../a.safetensors", "/a.safetensors", "b/a.safetensors",
        "..safetensors", "b\\\\a.safetensors", "a\\u0000.safetensors", "a.bin",
        ""}) {
    EXPECT_EQ(codes_of_name(name), "E534") << name;
  }
}

TEST(HfIndex, RefusesBrokenDocuments) {
  EXPECT_EQ(codes("{}"), "E524");
  EXPECT_EQ(codes("{\"weight_map\": []}"), "E521");
  EXPECT_EQ(codes("{\"weight_map\": {\"w\": 1}}"), "E521");
  EXPECT_EQ(codes("{\"weight_map\": {}, \"metadata\": {\"a\": [1}}"), "E520");
  EXPECT_EQ(codes("{\"weight_map\": {}, \"weight_map\": {}}"), "E523");
  EXPECT_EQ(codes(R"({"weight_map": {"w": "a.safetensors",
                                     "w": "a.safetensors"}})"),
            "E523");
}

}  // namespace
}  // namespace chimera
