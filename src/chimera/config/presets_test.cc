#include "chimera/config/presets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

namespace chimera {
namespace {

// Number of weights in a block, from the papers' layer lists and independent of
// the runtime: attention (4 h^2 + 4 h), feed-forward (2 h f + h + f) and two
// norms (4 h).
std::int64_t block_weights(const ModelShape& shape) {
  const std::int64_t h = shape.hidden;
  const std::int64_t f = shape.ffn;
  return 4 * h * h + 4 * h + 2 * h * f + h + f + 4 * h;
}

// Token and position embeddings, blocks, final norm, and the untied head.
std::int64_t gpt2_weights(const ModelShape& shape) {
  const std::int64_t h = shape.hidden;
  const std::int64_t head = shape.tie_embeddings ? 0 : shape.vocab * h;
  return (shape.vocab + shape.positions) * h + head + 2 * h +
         shape.layers * block_weights(shape);
}

// Three embeddings and their norm, blocks, pooler, the head's transform, norm
// and decoder with its bias, next-sentence layer.
std::int64_t bert_weights(const ModelShape& shape) {
  const std::int64_t h = shape.hidden;
  const std::int64_t decoder = shape.tie_embeddings ? 0 : shape.vocab * h;
  return (shape.vocab + shape.positions + 2) * h + 2 * h +
         shape.layers * block_weights(shape) + h * h + h + h * h + h + 2 * h +
         decoder + shape.vocab + 2 * h + 2;
}

TEST(Presets, NamesAreTheContracts) {
  EXPECT_THAT(preset_names(), testing::ElementsAre(
                                  "bert-48", "gpt2-64", "gpt2-32", "gpt2-small",
                                  "bert-base", "gpt2-tiny", "bert-tiny",
                                  "llama-tiny", "llama-1b", "llama-8b"));
  EXPECT_EQ(find_preset("bert-49"), std::nullopt);
  EXPECT_EQ(find_preset(""), std::nullopt);
}

TEST(Presets, PaperModelsHaveThePapersWeightCounts) {
  EXPECT_EQ(bert_weights(*find_preset("bert-48")), 669790012);
  EXPECT_EQ(gpt2_weights(*find_preset("gpt2-64")), 1389327360);
  EXPECT_EQ(gpt2_weights(*find_preset("gpt2-32")), 759649280);
}

TEST(Presets, Gpt2SmallHasThePublishedWeightCount) {
  EXPECT_EQ(gpt2_weights(*find_preset("gpt2-small")), 124439808);
}

// The published counts of Llama 3.2 1B and Llama 3 8B. A block has two
// projections of queries, two of keys and values, three matrices of SwiGLU and
// two norms.
TEST(Presets, LlamasHaveThePublishedWeightCounts) {
  const auto weights = [](const char* name) {
    const ModelShape shape = find_preset(name).value();
    const std::int64_t h = shape.hidden, f = shape.ffn;
    const std::int64_t queries = shape.heads * shape.llama.head_dim;
    const std::int64_t keys = shape.llama.kv_heads * shape.llama.head_dim;
    const std::int64_t block =
        2 * h * queries + 2 * h * keys + 3 * h * f + 2 * h;
    return shape.layers * block + h +
           (shape.tie_embeddings ? 1 : 2) * shape.vocab * h;
  };
  EXPECT_EQ(weights("llama-1b"), 1235814400);
  EXPECT_EQ(weights("llama-8b"), 8030261248);
}

TEST(Presets, ShapesTheWeightCountDoesNotPinDown) {
  EXPECT_EQ(find_preset("bert-48")->heads, 16);
  EXPECT_EQ(find_preset("bert-48")->seq, 128);
  EXPECT_EQ(find_preset("gpt2-64")->heads, 20);
  EXPECT_EQ(find_preset("gpt2-64")->seq, 632);
  EXPECT_EQ(*find_preset("gpt2-small"),
            (ModelShape{ModelKind::kGpt2, 12, 768, 12, 50257, 1024, 1024, 3072,
                        true}));
  EXPECT_EQ(
      *find_preset("bert-base"),
      (ModelShape{ModelKind::kBert, 12, 768, 12, 30522, 512, 512, 3072, true}));
  EXPECT_EQ(*find_preset("gpt2-tiny"),
            (ModelShape{ModelKind::kGpt2, 4, 64, 4, 256, 64, 64, 256, true}));
  EXPECT_EQ(*find_preset("bert-tiny"),
            (ModelShape{ModelKind::kBert, 4, 64, 4, 256, 64, 64, 256, true}));
}

}  // namespace
}  // namespace chimera
