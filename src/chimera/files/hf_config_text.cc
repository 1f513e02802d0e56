#include <fmt/format.h>

#include "chimera/base/text.h"
#include "chimera/files/hf_family.h"
#include "chimera/files/hf_llama.h"

namespace chimera {
namespace {

class ConfigText {
 public:
  template <class T>
  void add(std::string_view key, const T& value) {
    lines_.push_back(fmt::format("  \"{}\": {}", key, value));
  }
  [[nodiscard]] std::string text() const {
    return "{\n" + join(lines_, ",\n") + "\n}\n";
  }

 private:
  std::vector<std::string> lines_;
};

void add_kind(const HfShape& shape, ConfigText& config) {
  if (shape.model.kind == ModelKind::kBert) {
    config.add("type_vocab_size", shape.type_vocab);
    config.add("position_embedding_type", "\"absolute\"");
    config.add("pad_token_id", shape.padding_id < 0
                                   ? "null"
                                   : std::to_string(shape.padding_id));
    return;
  }
  if (shape.model.kind == ModelKind::kLlama) {
    for (const auto& [key, value] : hf_llama_lines(shape)) {
      config.add(key, value);
    }
    return;
  }
  config.add("n_ctx", shape.model.positions);  // readers before 2021 expect it
  // Readers assume id 50256 where these are missing, even in a smaller
  // vocabulary.
  constexpr int kEndOfText = 50256;
  const std::string end =
      shape.model.vocab > kEndOfText ? std::to_string(kEndOfText) : "null";
  config.add("bos_token_id", end);
  config.add("eos_token_id", end);
}

}  // namespace

std::string hf_config_text(const HfShape& shape) {
  const HfFamily& family = hf_family(shape.model);
  ConfigText config;
  config.add("architectures", fmt::format("[\"{}\"]", family.architecture));
  config.add("model_type", fmt::format("\"{}\"", family.model_type));
  config.add("torch_dtype", "\"float32\"");
  for (const HfSizeKey& size : family.sizes) {
    config.add(size.name, shape.model.*size.field);
  }
  config.add(family.ffn, shape.model.ffn);
  config.add(family.activation_key, fmt::format("\"{}\"", family.activation));
  for (const HfRealKey& real : family.reals) {
    config.add(real.name, json_real(shape.*real.field));
  }
  for (const HfFixedKey& fixed : family.fixed) {
    config.add(fixed.name, fixed.value);
  }
  config.add("initializer_range", "0.02");
  config.add("tie_word_embeddings", shape.model.tie_embeddings);
  add_kind(shape, config);
  return config.text();
}

}  // namespace chimera
