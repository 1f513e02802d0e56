#include "chimera/files/hf_match.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "chimera/files/hf_models_for_tests.h"

namespace chimera {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::StartsWith;

HfDirectory directory_of(ModelKind kind,
                         const std::vector<TensorView>& tensors) {
  const std::string path = new_folder();
  write_file(path + "/config.json", hf_config_text(tiny_shape(kind, true)));
  write_safetensors(path + "/model.safetensors", tensors);
  return HfDirectory::open(path).value();
}

std::string codes_gpt2(const std::vector<OwnedTensor>& tensors,
                       bool tied = true) {
  return codes_of(match_tensors(directory_of(ModelKind::kGpt2, views(tensors)),
                                expected_gpt2(tied)));
}

std::string codes_bert(const std::vector<OwnedTensor>& tensors,
                       bool tied = true) {
  return codes_of(match_tensors(directory_of(ModelKind::kBert, views(tensors)),
                                expected_bert(tied)));
}

OwnedTensor& named(std::vector<OwnedTensor>& tensors, const std::string& name) {
  const auto found = std::ranges::find(tensors, name, &OwnedTensor::name);
  EXPECT_NE(found, tensors.end()) << name;
  return *found;
}

OwnedTensor renamed(OwnedTensor tensor, const std::string& name) {
  tensor.name = name;
  return tensor;
}

std::vector<OwnedTensor> gpt2() { return tensors_of(expected_gpt2(true)); }
std::vector<OwnedTensor> bert() { return tensors_of(expected_bert(true)); }

void replace_in_names(std::vector<OwnedTensor>& tensors,
                      const std::string& old_part,
                      const std::string& new_part) {
  for (OwnedTensor& tensor : tensors) {
    if (const size_t at = tensor.name.find(old_part); at != std::string::npos) {
      tensor.name.replace(at, old_part.size(), new_part);
    }
  }
}

TEST(HfMatch, FindsTensorsWithoutTheirPrefix) {
  auto tensors = gpt2();
  replace_in_names(tensors, "transformer.", "");
  EXPECT_EQ(codes_gpt2(tensors), "");
  tensors = bert();
  replace_in_names(tensors, "bert.", "");
  EXPECT_EQ(codes_bert(tensors), "");
}

TEST(HfMatch, FindsOldNamesOfLayerNorms) {
  auto tensors = bert();
  replace_in_names(tensors, "LayerNorm.weight", "LayerNorm.gamma");
  replace_in_names(tensors, "LayerNorm.bias", "LayerNorm.beta");
  EXPECT_EQ(codes_bert(tensors), "");
}

TEST(HfMatch, IgnoresBuffers) {
  auto tensors = gpt2();
  tensors.push_back({"transformer.h.0.attn.bias", {1}, {1}});
  tensors.push_back({"h.0.attn.masked_bias", {1}, {1}});
  EXPECT_EQ(codes_gpt2(tensors), "");
  tensors = bert();
  tensors.push_back({"bert.embeddings.position_ids", {1}, {1}});
  tensors.push_back({"embeddings.token_type_ids", {1}, {1}});
  EXPECT_EQ(codes_bert(tensors), "");
  // Attention masks are skipped only under the names of their own family.
  tensors.push_back({"h.0.attn.bias", {1}, {1}});
  EXPECT_EQ(codes_bert(tensors), "E537");
}

TEST(HfMatch, AcceptsATiedHeadThatIsStoredAllTheSame) {
  auto tensors = gpt2();
  tensors.push_back(renamed(tensors[0], "lm_head.weight"));
  EXPECT_EQ(codes_gpt2(tensors), "");
  tensors.back().values[0] += 1;
  EXPECT_EQ(codes_gpt2(tensors), "E541");
  EXPECT_EQ(codes_gpt2(tensors, false), "");
  tensors.back() = {"lm_head.weight", {6}, tensors[0].values};
  EXPECT_EQ(codes_gpt2(tensors), "E541");
}

TEST(HfMatch, AcceptsATiedHeadInPlaceOfTheEmbedding) {
  auto tensors = gpt2();
  tensors[0].name = "lm_head.weight";
  EXPECT_EQ(codes_gpt2(tensors), "");
  EXPECT_EQ(codes_gpt2(tensors, false), "E536");
}

TEST(HfMatch, ComparesATiedBertHeadAndItsBias) {
  auto tensors = bert();
  tensors.push_back(renamed(tensors[0], "cls.predictions.decoder.weight"));
  tensors.push_back(renamed(named(tensors, "cls.predictions.bias"),
                            "cls.predictions.decoder.bias"));
  EXPECT_EQ(codes_bert(tensors), "");
  tensors.back().values[2] += 1;
  EXPECT_EQ(codes_bert(tensors), "E541");
  (tensors.end() - 2)->values[0] += 1;
  EXPECT_EQ(codes_bert(tensors), "E541 E541");
}

TEST(HfMatch, TakesTheBiasThatAnUntiedBertAdds) {
  auto tensors = tensors_of(expected_bert(false));
  tensors.push_back({"cls.predictions.decoder.bias", {3}, {7, 8, 9}});
  const HfDirectory directory = directory_of(ModelKind::kBert, views(tensors));
  const auto expected = expected_bert(false);
  const auto matched = match_tensors(directory, expected);
  ASSERT_TRUE(matched) << codes_of(matched);
  const auto bias = std::ranges::find(expected, "cls.predictions.bias",
                                      &ExpectedTensor::name);
  EXPECT_THAT(floats_of(matched->tensors[bias - expected.begin()]),
              ElementsAre(7, 8, 9));
}

TEST(HfMatch, ListsThePartsThatAreNotThere) {
  auto tensors = bert();
  std::erase_if(tensors, [](const OwnedTensor& tensor) {
    return tensor.name.starts_with("cls.");
  });
  const auto fresh_of = [](const std::vector<OwnedTensor>& all) {
    const auto matched = match_tensors(
        directory_of(ModelKind::kBert, views(all)), expected_bert(true));
    EXPECT_TRUE(matched) << codes_of(matched);
    return matched->fresh;
  };
  EXPECT_EQ(fresh_of(tensors).size(), 7U);
  EXPECT_THAT(fresh_of(tensors), Each(StartsWith("cls.")));
  std::erase_if(tensors, [](const OwnedTensor& tensor) {
    return tensor.name.starts_with("bert.pooler");
  });
  EXPECT_EQ(fresh_of(tensors).size(), 9U);
}

TEST(HfMatch, RefusesAPartThatIsHalfThere) {
  auto tensors = bert();
  std::erase_if(tensors, [](const OwnedTensor& tensor) {
    return tensor.name == "cls.predictions.bias";
  });
  EXPECT_EQ(codes_bert(tensors), "E536");
}

TEST(HfMatch, ReportsEveryKindOfMistakeAtOnce) {
  auto tensors = gpt2();
  named(tensors, "transformer.ln_f.bias").name = "ln_x.bias";
  named(tensors, "transformer.wpe.weight").shape = {2, 4};
  tensors.push_back(renamed(tensors[0], "wte.weight"));
  std::vector<TensorView> all = views(tensors);
  for (TensorView& view : all) {
    if (view.name == "transformer.h.0.ln_1.weight")
      view.type = TensorType::kI32;
  }
  const auto matched =
      match_tensors(directory_of(ModelKind::kGpt2, all), expected_gpt2(true));
  EXPECT_EQ(codes_of(matched), "E540 E538 E539 E536 E537");
  EXPECT_EQ(matched.errors()[1].found + " " + matched.errors()[1].needed,
            "tensor \"transformer.wpe.weight\" shape = [2, 4] must be [4, 2]");
}

TEST(HfMatch, CutsALongListOfMistakes) {
  auto tensors = gpt2();
  for (int i = 0; i < 25; ++i) {
    tensors.push_back({"x" + std::to_string(i), {1}, {0}});
  }
  const auto matched = match_tensors(
      directory_of(ModelKind::kGpt2, views(tensors)), expected_gpt2(true));
  ASSERT_FALSE(matched);
  ASSERT_EQ(matched.errors().size(), 21U);
  EXPECT_EQ(matched.errors()[20].code, "E542");
  EXPECT_EQ(matched.errors()[20].found, "5 more mistakes");
}

}  // namespace
}  // namespace chimera
