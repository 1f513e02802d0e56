#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "chimera/files/hf_config.h"
#include "chimera/files/hf_files_for_tests.h"

namespace chimera {
namespace {

const std::string kSizes = R"(
  "hidden_act": "silu", "hidden_size": 64, "intermediate_size": 96,
  "max_position_embeddings": 128, "num_attention_heads": 4,
  "num_hidden_layers": 3, "vocab_size": 97)";

std::string config(const std::string& type, const std::string& more) {
  return "{\"model_type\": \"" + type + "\", " + more + ", " + kSizes + "}";
}

HfShape read(const std::string& type, const std::string& more) {
  const auto shape = parse_hf_config(config(type, more), "config.json");
  EXPECT_TRUE(shape) << codes_of(shape);
  return shape ? *shape : HfShape{};
}

std::string codes(const std::string& type, const std::string& more) {
  return codes_of(parse_hf_config(config(type, more), "config.json"));
}

// The first Llama had no grouped heads and no keys for rotary positions.
TEST(HfLlama, DefaultsAreThoseOfTheOldestFiles) {
  const HfShape shape = read("llama", "\"rms_norm_eps\": 1e-06");
  EXPECT_EQ(shape.model.kind, ModelKind::kLlama);
  EXPECT_EQ(shape.model.llama, (LlamaShape{.kv_heads = 4, .head_dim = 16}));
  EXPECT_FALSE(shape.model.tie_embeddings);
  EXPECT_EQ(shape.layer_norm_epsilon, 1e-6);
  EXPECT_EQ(shape.attention_dropout, 0);
}

TEST(HfLlama, BothSpellingsOfRotaryPositionsMeanTheSame) {
  const std::string values =
      R"("factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 3,
         "original_max_position_embeddings": 32, "rope_type": "llama3")";
  const HfShape four = read(
      "llama", "\"rope_scaling\": {" + values + "}, \"rope_theta\": 500000");
  const HfShape five =
      read("llama",
           "\"rope_parameters\": {\"rope_theta\": 500000.0, " + values + "}");
  EXPECT_EQ(four, five);
  EXPECT_EQ(four.model.llama.rope, (Rope{.theta = 500000,
                                         .type = RopeType::kLlama3,
                                         .factor = 8,
                                         .low_freq_factor = 1,
                                         .high_freq_factor = 3,
                                         .original_positions = 32}));
  // Older files use the key "type".
  EXPECT_EQ(read("llama", R"("rope_scaling": {"type":"linear","factor":2})"),
            read("llama",
                 R"("rope_parameters": {"rope_type":"linear","factor":2.0})"));
}

TEST(HfLlama, VariantsAreToldByTheirType) {
  EXPECT_TRUE(
      read("qwen2", "\"num_key_value_heads\": 2").model.llama.has_qkv_bias());
  EXPECT_TRUE(read("qwen3", "\"num_key_value_heads\": 2, \"head_dim\": 32")
                  .model.llama.has_qk_norm());
  EXPECT_EQ(
      read("mistral", "\"num_key_value_heads\": 2, \"sliding_window\": 32")
          .model.llama.window,
      32);
  // Qwen's windows are off, whatever their size.
  EXPECT_EQ(read("qwen2",
                 "\"num_key_value_heads\": 2, \"sliding_window\": 32, "
                 "\"use_sliding_window\": false")
                .model.llama.window,
            0);
}

TEST(HfLlama, RefusesOtherComputations) {
  EXPECT_EQ(codes("llama", "\"attention_bias\": true"), "E526");
  EXPECT_EQ(codes("llama", "\"mlp_bias\": true"), "E526");
  EXPECT_EQ(codes("qwen2",
                  "\"num_key_value_heads\": 2, \"use_sliding_window\": true"),
            "E526");
  EXPECT_EQ(codes("llama", R"("rope_scaling": {"type":"yarn","factor":2})"),
            "E526");
  EXPECT_EQ(codes("llama", "\"partial_rotary_factor\": 0.5"), "E526");
}

TEST(HfLlama, RefusesWhatDoesNotFitTogether) {
  EXPECT_EQ(codes("llama", "\"num_key_value_heads\": 3"), "E527");
  EXPECT_EQ(codes("llama", "\"num_key_value_heads\": 0"), "E522");
  EXPECT_EQ(codes("llama", "\"head_dim\": 15"), "E522");
  EXPECT_EQ(codes("qwen3", "\"num_key_value_heads\": 2"), "E524");
  EXPECT_EQ(codes("llama", R"("rope_scaling": {"rope_type": "linear"})"),
            "E524");
  EXPECT_EQ(
      codes("llama", R"("rope_scaling": {"rope_type": "llama3", "factor": 2})"),
      "E524 E524 E524");
  EXPECT_EQ(codes("llama", "\"rope_theta\": 0.5"), "E522");
  EXPECT_EQ(codes("llama", "\"rope_scaling\": 2"), "E521");
}

RC_GTEST_PROP(HfLlama, RoundTrips, ()) {
  using rc::gen::inRange;
  HfShape shape;
  LlamaShape& llama = shape.model.llama;
  shape.model.kind = ModelKind::kLlama;
  shape.model.layers = *inRange(1, 100);
  llama.kv_heads = *inRange(1, 10);
  llama.head_dim = 2 * *inRange(1, 100);
  shape.model.heads = llama.kv_heads * *inRange(1, 10);
  shape.model.hidden = shape.model.heads * *inRange(1, 100);
  shape.model.vocab = *inRange(1, 1000000);
  shape.model.seq = shape.model.positions = *inRange(1, 1000000);
  shape.model.ffn = *inRange(1, 1000000);
  shape.model.tie_embeddings = *rc::gen::arbitrary<bool>();
  llama.variant = static_cast<LlamaVariant>(*inRange(0, 4));
  if (llama.variant == LlamaVariant::kMistral) llama.window = *inRange(0, 99);
  llama.rope.theta = *inRange(1, 1 << 30) / 512.0 + 1;
  llama.rope.type = static_cast<RopeType>(*inRange(0, 3));
  if (llama.rope.type != RopeType::kDefault) {
    llama.rope.factor = 1 + *inRange(0, 1000) / 64.0;
  }
  if (llama.rope.type == RopeType::kLlama3) {
    llama.rope.low_freq_factor = *inRange(1, 1000) / 64.0;
    llama.rope.high_freq_factor = 16 + *inRange(0, 1000) / 64.0;
    llama.rope.original_positions = *inRange(1, 100000);
  }
  shape.layer_norm_epsilon = *inRange(0, 1000) * 1e-6;
  shape.embedding_dropout = shape.hidden_dropout = 0;
  shape.attention_dropout = *inRange(0, 100) / 128.0;
  shape.bos_id = *inRange(-1, 10);
  shape.eos_ids = *rc::gen::container<std::vector<int>>(inRange(0, 99));
  const auto again = parse_hf_config(hf_config_text(shape), "config.json");
  RC_ASSERT(again.ok());
  RC_ASSERT(*again == shape);
}

}  // namespace
}  // namespace chimera
