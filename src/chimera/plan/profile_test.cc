#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "chimera/config/presets.h"
#include "chimera/plan/builtin_profiles.h"
#include "chimera/plan/layer_costs.h"
#include "chimera/plan/profile_text.h"

namespace chimera {
namespace {

using ::testing::ElementsAre;

const char* kSmall = R"(
[machine]
name = "mine"
[link]
latency_us = 10
gb_per_s = 2
[block]
layer = "block"
hidden = 8
heads = 2
ffn = 32
seq = 4
micro_batch = [1, 2, 4]
forward_ms = [1, 1.5, 3]
input_grad_ms = [1, 2, 4]
weight_grad_ms = [1, 2, 4]
)";

std::vector<std::string> mistakes(const std::string& text) {
  const Result<Profile> profile = parse_profile(text, "p.toml");
  std::vector<std::string> found;
  if (profile) return found;
  for (const Diagnostic& error : profile.errors()) {
    found.push_back(error.code + " " + error.where);
  }
  return found;
}

TEST(Profile, ReadsUnitsAndTakesSumsFromTheLink) {
  const Result<Profile> profile = parse_profile(kSmall, "p.toml");
  ASSERT_TRUE(profile.ok());
  EXPECT_DOUBLE_EQ(profile->link.latency_s, 1e-5);
  EXPECT_DOUBLE_EQ(profile->link.s_per_byte, 0.5e-9);
  EXPECT_EQ(profile->sum, profile->link);
  EXPECT_THAT(profile->layers.at(0).table.forward_s,
              ElementsAre(1e-3, 1.5e-3, 3e-3));
}

TEST(Profile, ReportsAllMistakesAtOnceWithTheirLines) {
  EXPECT_THAT(
      mistakes("[machine]\nnmae = \"x\"\n"
               "[link]\nlatency_us = \"low\"\ngb_per_s = -1\n"
               "[lnik]\n"
               "[a]\nlayer = \"blok\"\nhidden = 8\nheads = 1\nffn = 4\n"
               "seq = 2\nmicro_batch = [2, 1]\nforward_ms = [1]\n"
               "input_grad_ms = [1, 2]\nweight_grad_ms = 3\n"),
      ElementsAre("E020 p.toml:1", "E005 p.toml:2", "E007 p.toml:4",
                  "E008 p.toml:5", "E004 p.toml:6", "E009 p.toml:8",
                  "E601 p.toml:13", "E030 p.toml:14", "E007 p.toml:16"));
}

TEST(Profile, NeedsAMachineALinkAndABlock) {
  EXPECT_THAT(mistakes(""), ElementsAre("E020 p.toml", "E020 p.toml"));
  EXPECT_THAT(mistakes("[machine]\nname = \"x\"\n[link]\nlatency_us = 1\n"
                       "gb_per_s = 1\n"),
              ElementsAre("E602 p.toml"));
}

// With times of 0, rates would be infinite and shares of a step NaN.
TEST(Profile, ABlockTakesTime) {
  std::string free = kSmall;
  free.replace(free.find("[1, 1.5, 3]"), 11, "[0, 1.5, 3]");
  EXPECT_THAT(mistakes(free), ElementsAre("E008 p.toml:14"));
}

TEST(Profile, AnEndLayerNeedsItsModelAndVocabulary) {
  const std::string head = std::string(kSmall) +
                           "[end]\nlayer = \"head\"\nhidden = 8\nseq = 4\n"
                           "micro_batch = [1]\nforward_ms = [1]\n"
                           "input_grad_ms = [1]\nweight_grad_ms = [1]\n";
  EXPECT_EQ(mistakes(head).size(), 2u);
  EXPECT_THAT(mistakes(head + "model = \"gpt2\"\nvocab = 16\n"), ElementsAre());
}

TEST(Profile, BuiltInOnesReadAndComeBackFromTheirText) {
  for (const std::string& name : builtin_profile_names()) {
    const Profile profile = builtin_profile(name).value();
    EXPECT_EQ(profile.name, name);
    const std::string text = print_profile(profile);
    const Result<Profile> again = parse_profile(text, name);
    ASSERT_TRUE(again.ok()) << text;
    EXPECT_EQ(print_profile(*again), text);
  }
  EXPECT_FALSE(builtin_profile("b200"));
}

// A block's FLOPs over its times: the published peak and the stated share.
TEST(Profile, A100AndH100TakeTheStatedShareOfTheirPeaks) {
  for (const std::string name : {"a100", "h100"}) {
    const Profile profile = builtin_profile(name).value();
    EXPECT_EQ(profile.memory_bytes, 80e9);
    ASSERT_EQ(profile.layers.size(), 2u);
    for (const LayerProfile& layer : profile.layers) {
      const Precision precision = layer.shape.precision;
      const double share = precision == Precision::kBf16 ? 0.5 : 0.7;
      const double rate = share * builtin_peak_flops(name, precision).value();
      const LayerFlops flops = forward_flops(layer.shape);
      EXPECT_TRUE(layer.derived);
      EXPECT_NEAR(layer.table.forward_s[0], flops.total() / rate, 1e-6);
      EXPECT_NEAR(layer.table.input_grad_s[0],
                  (flops.dense + 2 * flops.attention) / rate, 1e-6);
      EXPECT_NEAR(layer.table.weight_grad_s[0], flops.dense / rate, 1e-6);
    }
  }
}

TEST(LayerCosts, ComeFromABlockOfTheSamePrecisionIfThereIsOne) {
  const Profile profile = builtin_profile("h100").value();
  for (const Precision precision : {Precision::kFloat32, Precision::kBf16}) {
    for (const ModelLayer& layer :
         layers_of(find_preset("llama-8b").value(), precision)) {
      EXPECT_EQ(source_of(profile, layer.shape).layer->shape.precision,
                precision);
    }
  }
}

TEST(Profile, WhatWorkersOfOneHostShareComesBackToo) {
  Profile profile = builtin_profile("p100").value();
  profile.cores = 8;
  profile.threads = 2;
  profile.contention = 0.25;
  profile.jitter = 0.03;
  EXPECT_EQ(parse_profile(print_profile(profile), "again").value(), profile);
}

TEST(Profile, NodesComeBackAndNeedAllTheirKeys) {
  const std::string small = kSmall;
  const Profile profile =
      parse_profile(
          small + "[node]\nranks = 4\nlatency_us = 1\ngb_per_s = 50\n", "")
          .value();
  EXPECT_EQ(profile.node, (NodeProfile{4, 1e-6, 1 / 50e9}));
  EXPECT_EQ(parse_profile(print_profile(profile), "again").value(), profile);
  EXPECT_EQ(mistakes(small + "[node]\n").size(), 3u);
}

TEST(LayerCosts, FollowTheTableBetweenBelowAndAboveItsSizes) {
  const Profile profile = parse_profile(kSmall, "").value();
  const LayerShape shape = profile.layers[0].shape;
  const auto forward_ms = [&](int size) {
    return layer_costs(profile, shape, size).forward_s * 1e3;
  };
  EXPECT_DOUBLE_EQ(forward_ms(1), 1);
  EXPECT_DOUBLE_EQ(forward_ms(2), 1.5);
  EXPECT_DOUBLE_EQ(forward_ms(3), 2.25);
  EXPECT_DOUBLE_EQ(forward_ms(8), 6);
}

TEST(LayerCosts, FactorsCountForBlocksOfTheirModelOnly) {
  Profile profile =
      parse_profile(std::string(kSmall) + "[block_factor]\nbert = 1.5\n", "")
          .value();
  EXPECT_EQ(parse_profile(print_profile(profile), "again").value(), profile);
  LayerShape shape = profile.layers[0].shape;
  const double plain = layer_costs(profile, shape, 1).forward_s;
  shape.model = ModelKind::kBert;
  EXPECT_DOUBLE_EQ(layer_costs(profile, shape, 1).forward_s, 1.5 * plain);
  shape.kind = LayerKind::kHead;
  const double head = layer_costs(profile, shape, 1).forward_s;
  profile.block_factor = {1, 1, 1};
  EXPECT_DOUBLE_EQ(layer_costs(profile, shape, 1).forward_s, head);
}

TEST(LayerCosts, ScaleOtherShapesByTheirFlops) {
  const Profile profile = parse_profile(kSmall, "").value();
  LayerShape twice = profile.layers[0].shape;
  twice.ffn = 80;  // 4 h^2 + 2 h ffn: 768 -> 1536; attention adds 64 each time
  const LayerSource source = source_of(profile, twice);
  EXPECT_FALSE(source.same);
  EXPECT_NEAR(source.scale, (1536.0 + 64) / (768 + 64), 1e-12);
  EXPECT_EQ(describe(source), "block, scaled by FLOPs");
}

// The built-in figures of GPT-2's block equal those scaled from measured ones,
// to the printed digits.
TEST(LayerCosts, Gpt2OfTheProfilesIsScaledFromT5Large) {
  const LayerShape gpt2 = layers_of(find_preset("gpt2-64").value())[1].shape;
  for (const std::string name : {"p100", "v100", "rtx3090"}) {
    Profile profile = builtin_profile(name).value();
    EXPECT_EQ(describe(source_of(profile, gpt2)), "gpt2-1280 (derived)");
    const LayerProfile derived = profile.layers.back();
    profile.layers.pop_back();
    profile.block_factor = {1, 1, 1};
    EXPECT_EQ(describe(source_of(profile, gpt2)), "t5-large, scaled by FLOPs");
    for (size_t row = 0; row < derived.table.micro_batch.size(); ++row) {
      const LayerCosts scaled = layer_costs(
          profile, gpt2, static_cast<int>(derived.table.micro_batch[row]));
      EXPECT_NEAR(derived.table.forward_s[row], scaled.forward_s, 2e-6);
      EXPECT_NEAR(derived.table.input_grad_s[row], scaled.input_grad_s, 2e-6);
      EXPECT_NEAR(derived.table.weight_grad_s[row], scaled.weight_grad_s, 2e-6);
      EXPECT_NEAR(derived.table.activation_bytes[row], scaled.activation_bytes,
                  1e4);
    }
  }
}

TEST(ModelLayers, HaveThePapersNumberOfParameters) {
  const auto parameters = [](const char* preset) {
    double sum = 0;
    for (const ModelLayer& layer : layers_of(find_preset(preset).value())) {
      sum += layer.parameters;
    }
    return sum;
  };
  EXPECT_EQ(parameters("bert-48"), 669790012);
  EXPECT_EQ(parameters("gpt2-64"), 1389327360);
  EXPECT_EQ(parameters("gpt2-32"), 759649280);
  EXPECT_EQ(parameters("llama-8b"), 8030261248);
}

// The blocks of GPT-2 and BERT do the same work, a Llama's block does not.
TEST(ModelLayers, ALlamasBlockIsAnother) {
  LayerShape block = layers_of(find_preset("llama-tiny").value())[1].shape;
  LayerShape other = block;
  EXPECT_TRUE(same_work(block, other));
  other.kv_heads = 1;
  EXPECT_FALSE(same_work(block, other));
  EXPECT_LT(forward_flops(other).total(), forward_flops(block).total());
  other = block;
  other.model = ModelKind::kGpt2;
  EXPECT_FALSE(same_work(block, other));
}

TEST(ModelLayers, EstimatesAreNearTheMeasuredBlocks) {
  const Profile profile = builtin_profile("p100").value();
  for (const LayerProfile& layer : profile.layers) {
    if (layer.shape.kind != LayerKind::kBlock) continue;
    const size_t last = layer.table.micro_batch.size() - 1;
    const double size = layer.table.micro_batch[last];
    const auto near = [&](double measured, double estimate) {
      EXPECT_NEAR(estimate * size / measured, 1, 0.15) << layer.name;
    };
    near(layer.table.activation_bytes[last],
         estimated_activation_bytes(layer.shape));
    near(layer.table.workspace_bytes[last],
         estimated_workspace_bytes(layer.shape));
  }
}

RC_GTEST_PROP(LayerCosts, NeverFallWithTheMicroBatch, ()) {
  const Profile profile = builtin_profile("p100").value();
  const auto shape = *rc::gen::elementOf(profile.layers);
  const int size = *rc::gen::inRange(1, 300);
  const LayerCosts less = layer_costs(profile, shape.shape, size);
  const LayerCosts more = layer_costs(profile, shape.shape, size + 1);
  RC_ASSERT(more.total_s() >= less.total_s());
}

}  // namespace
}  // namespace chimera
