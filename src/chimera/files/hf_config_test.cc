#include "chimera/files/hf_config.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "chimera/files/hf_files_for_tests.h"

namespace chimera {
namespace {

// config.json of gpt2 on the Hugging Face hub, without keys that are not read.
const std::string kGpt2 = R"({
  "activation_function": "gelu_new",
  "architectures": ["GPT2LMHeadModel"],
  "attn_pdrop": 0.2,
  "embd_pdrop": 0.1,
  "layer_norm_epsilon": 1e-05,
  "model_type": "gpt2",
  "n_ctx": 1024, "n_embd": 768, "n_head": 12, "n_layer": 6,
  "n_positions": 1024,
  "resid_pdrop": 0.0,
  "summary_type": "cls_index",
  "task_specific_params": {"text-generation": {"do_sample": true}},
  "vocab_size": 50257
})";

const std::string kBert = R"({
  "architectures": ["BertForMaskedLM"],
  "attention_probs_dropout_prob": 0.3,
  "hidden_act": "gelu", "hidden_dropout_prob": 0.2, "hidden_size": 128,
  "intermediate_size": 500, "max_position_embeddings": 512,
  "model_type": "bert", "num_attention_heads": 2, "num_hidden_layers": 3,
  "position_embedding_type": "absolute", "type_vocab_size": 4,
  "vocab_size": 30522
})";

std::string replaced(std::string text, const std::string& old_part,
                     const std::string& new_part) {
  const size_t at = text.find(old_part);
  EXPECT_NE(at, std::string::npos) << old_part;
  return text.replace(at, old_part.size(), new_part);
}

std::string codes(const std::string& text) {
  return codes_of(parse_hf_config(text, "config.json"));
}

// The error codes of a valid config.json with `line` put first.
std::string codes_with(const std::string& sound, const std::string& line) {
  return codes(replaced(sound, "{", "{" + line + ","));
}

TEST(HfConfig, ReadsGpt2) {
  const auto shape = parse_hf_config(kGpt2, "config.json");
  ASSERT_TRUE(shape) << codes_of(shape);
  EXPECT_EQ(shape->model, (ModelShape{.kind = ModelKind::kGpt2,
                                      .layers = 6,
                                      .hidden = 768,
                                      .heads = 12,
                                      .vocab = 50257,
                                      .seq = 1024,
                                      .positions = 1024,
                                      .ffn = 3072,
                                      .tie_embeddings = true}));
  EXPECT_EQ(shape->layer_norm_epsilon, 1e-5);
  EXPECT_EQ(shape->embedding_dropout, 0.1);
  EXPECT_EQ(shape->hidden_dropout, 0);
  EXPECT_EQ(shape->attention_dropout, 0.2);
}

TEST(HfConfig, ReadsBert) {
  const auto shape = parse_hf_config(kBert, "config.json");
  ASSERT_TRUE(shape) << codes_of(shape);
  EXPECT_EQ(shape->model, (ModelShape{.kind = ModelKind::kBert,
                                      .layers = 3,
                                      .hidden = 128,
                                      .heads = 2,
                                      .vocab = 30522,
                                      .seq = 512,
                                      .positions = 512,
                                      .ffn = 500,
                                      .tie_embeddings = true}));
  EXPECT_EQ(shape->type_vocab, 4);
  EXPECT_EQ(shape->layer_norm_epsilon, 1e-12);
  EXPECT_EQ(shape->embedding_dropout, 0.2);
  EXPECT_EQ(shape->attention_dropout, 0.3);
}

TEST(HfConfig, ReadsWhatMayStandThere) {
  EXPECT_EQ(codes_with(kGpt2, "\"n_inner\": null"), "");
  const auto wide = parse_hf_config(
      replaced(kGpt2, "{", "{\"n_inner\": 5, \"tie_word_embeddings\": false,"),
      "c");
  ASSERT_TRUE(wide);
  EXPECT_EQ(wide->model.ffn, 5);
  EXPECT_FALSE(wide->model.tie_embeddings);
  EXPECT_EQ(codes(replaced(kGpt2, "\"model_type\": \"gpt2\",", "")), "");
  EXPECT_EQ(codes(replaced(kBert, "\"model_type\": \"bert\",", "")), "");
  EXPECT_EQ(codes(replaced(kBert, "[\"BertForMaskedLM\"]", "null")), "");
  EXPECT_EQ(codes_with(kBert, "\"is_decoder\": false"), "");
}

TEST(HfConfig, RefusesOtherModels) {
  const auto gemma =
      parse_hf_config(R"({"model_type": "gemma"})", "d/config.json");
  ASSERT_FALSE(gemma);
  EXPECT_EQ(to_string(gemma.errors()[0]),
            "error[E525] d/config.json: model_type = \"gemma\" is not one of "
            "gpt2, bert, llama, mistral, qwen2, qwen3; hint: docs/models.md "
            "lists the models that can be read");
  EXPECT_EQ(codes(R"({"model_type": "distilbert"})"), "E525");
  EXPECT_EQ(codes(R"({"architectures": ["T5Model"]})"), "E525");
  EXPECT_EQ(codes(R"({"architectures": []})"), "E525");
  EXPECT_EQ(codes("{}"), "E525");
  // model_type decides, not the architecture.
  EXPECT_EQ(codes(R"({"model_type": "t5", "architectures": ["BertModel"]})"),
            "E525");
}

TEST(HfConfig, RefusesOtherComputations) {
  EXPECT_EQ(codes(replaced(kGpt2, "gelu_new", "relu")), "E526");
  EXPECT_EQ(codes(replaced(kGpt2, "gelu_new", "gelu")), "E526");
  EXPECT_EQ(codes(replaced(kBert, "\"gelu\"", "\"gelu_new\"")), "E526");
  EXPECT_EQ(codes(replaced(kBert, "absolute", "relative_key")), "E526");
  for (const char* line :
       {"\"scale_attn_weights\": false",
        "\"scale_attn_by_inverse_layer_idx\": true",
        "\"reorder_and_upcast_attn\": true", "\"add_cross_attention\": true"}) {
    EXPECT_EQ(codes_with(kGpt2, line), "E526") << line;
  }
  EXPECT_EQ(codes_with(kBert, "\"is_decoder\": true"), "E526");
  EXPECT_EQ(codes_with(kBert, "\"add_cross_attention\": true"), "E526");
}

TEST(HfConfig, RefusesWrongTypesAndNumbers) {
  EXPECT_EQ(codes("[]"), "E521");
  EXPECT_EQ(codes("{\"model_type\": 2}"), "E521");
  EXPECT_EQ(codes("{\"model_type\": \"gpt2\""), "E520");
  EXPECT_EQ(codes(kGpt2 + "x"), "E520");
  EXPECT_EQ(codes(replaced(kGpt2, "768", "\"768\"")), "E521");
  EXPECT_EQ(codes(replaced(kGpt2, "768", "768.0")), "E521");
  EXPECT_EQ(codes(replaced(kGpt2, "768", "0")), "E522");
  EXPECT_EQ(codes(replaced(kGpt2, "768", "-12")), "E522");
  EXPECT_EQ(codes(replaced(kGpt2, "50257", "100000001")), "E522");
  EXPECT_EQ(codes(replaced(kGpt2, "\"n_layer\": 6", "\"n_layer\": 1000001")),
            "E522");
  EXPECT_EQ(codes(replaced(kGpt2, "1e-05", "1")), "E522");
  EXPECT_EQ(codes(replaced(kGpt2, "1e-05", "true")), "E521");
  EXPECT_EQ(codes(replaced(kGpt2, "\"gelu_new\"", "null")), "E521");
  EXPECT_EQ(codes(replaced(kBert, "500", "null")), "E521");
  EXPECT_EQ(codes_with(kBert, "\"tie_word_embeddings\": 1"), "E521");
}

TEST(HfConfig, RefusesMissingRepeatedAndContradictingKeys) {
  EXPECT_EQ(codes(R"({"model_type": "gpt2"})"), "E524 E524 E524 E524 E524");
  EXPECT_EQ(codes(R"({"model_type": "bert"})"),
            "E524 E524 E524 E524 E524 E524");
  EXPECT_EQ(codes_with(kGpt2, "\"n_layer\": 3"), "E523");
  EXPECT_EQ(codes(replaced(kGpt2, "768", "769")), "E527");
}

RC_GTEST_PROP(HfConfig, RoundTrips, ()) {
  using rc::gen::inRange;
  HfShape shape;
  const bool bert = *rc::gen::arbitrary<bool>();
  shape.model.kind = bert ? ModelKind::kBert : ModelKind::kGpt2;
  shape.model.layers = *inRange(1, 1000001);
  shape.model.heads = *inRange(1, 1000);
  shape.model.hidden = shape.model.heads * *inRange(1, 1000);
  shape.model.vocab = *inRange(1, 100000001);
  shape.model.positions = *inRange(1, 100000001);
  shape.model.seq = shape.model.positions;
  shape.model.ffn = *inRange(1, 100000001);
  shape.model.tie_embeddings = *rc::gen::arbitrary<bool>();
  if (bert) shape.type_vocab = *inRange(1, 10);
  const auto share = [] { return *inRange(0, 1 << 30) / 1073741824.0; };
  shape.layer_norm_epsilon = share() * 1e-4;
  shape.hidden_dropout = share();
  shape.attention_dropout = share();
  shape.embedding_dropout = bert ? shape.hidden_dropout : share();
  const auto again = parse_hf_config(hf_config_text(shape), "config.json");
  RC_ASSERT(again.ok());
  RC_ASSERT(*again == shape);
}

}  // namespace
}  // namespace chimera
