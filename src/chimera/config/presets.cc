#include "chimera/config/presets.h"

#include <array>

namespace chimera {
namespace {

struct Preset {
  std::string_view name;
  ModelShape shape;
};

constexpr ModelKind kGpt2 = ModelKind::kGpt2;
constexpr ModelKind kBert = ModelKind::kBert;
constexpr ModelKind kLlama = ModelKind::kLlama;

constexpr LlamaShape llama(int kv_heads, int head_dim, double theta) {
  return {.kv_heads = kv_heads, .head_dim = head_dim, .rope = {.theta = theta}};
}

// Columns: kind, layers, hidden, heads, vocab, seq, positions, ffn,
// tie_embeddings.
constexpr std::array<Preset, 10> kPresets = {{
    {"bert-48", {kBert, 48, 1024, 16, 30522, 128, 512, 4096, false}},
    {"gpt2-64", {kGpt2, 64, 1280, 20, 50257, 632, 1024, 5120, false}},
    {"gpt2-32", {kGpt2, 32, 1280, 20, 50257, 632, 1024, 5120, false}},
    {"gpt2-small", {kGpt2, 12, 768, 12, 50257, 1024, 1024, 3072, true}},
    {"bert-base", {kBert, 12, 768, 12, 30522, 512, 512, 3072, true}},
    {"gpt2-tiny", {kGpt2, 4, 64, 4, 256, 64, 64, 256, true}},
    {"bert-tiny", {kBert, 4, 64, 4, 256, 64, 64, 256, true}},
    {"llama-tiny",
     {kLlama, 4, 64, 4, 256, 64, 64, 192, true, llama(2, 16, 10000)}},
    {"llama-1b",
     {kLlama, 16, 2048, 32, 128256, 2048, 8192, 8192, true,
      llama(8, 64, 500000)}},
    {"llama-8b",
     {kLlama, 32, 4096, 32, 128256, 2048, 8192, 14336, false,
      llama(8, 128, 500000)}},
}};

constexpr auto kPresetNames = [] {
  std::array<std::string_view, kPresets.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kPresets[i].name;
  return names;
}();

}  // namespace

Names preset_names() { return kPresetNames; }

std::optional<ModelShape> find_preset(std::string_view name) {
  for (const Preset& preset : kPresets) {
    if (preset.name == name) return preset.shape;
  }
  return std::nullopt;
}

}  // namespace chimera
