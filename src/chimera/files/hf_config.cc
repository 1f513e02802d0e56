#include "chimera/files/hf_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "chimera/base/json_reader.h"
#include "chimera/base/text.h"
#include "chimera/files/hf_family.h"
#include "chimera/files/hf_llama.h"
#include "chimera/files/safetensors.h"

namespace chimera {
namespace {

// The model's name in config.json: model_type, or else the architecture.
struct ModelName {
  std::optional<std::string> type;
  std::optional<std::string> architecture;  // the first one
};

ModelName read_name(JsonReader& json) {
  ModelName name;
  json.object("the document", [&](const std::string& key) {
    if (key == "model_type") {
      name.type = json.string(key);
    } else if (key == "architectures" && !json.null()) {
      json.array(key, [&] {
        const auto architecture = json.string("architecture");
        if (!name.architecture) name.architecture = architecture;
      });
    } else if (key != "architectures") {
      json.skip();
    }
  });
  json.finish();
  return name;
}

// "Bert" of "BertForPreTraining".
std::string_view first_part(std::string_view architecture) {
  for (const std::string_view end : {"LMHead", "For"}) {
    const size_t at = architecture.find(end);
    if (at != std::string_view::npos) return architecture.substr(0, at);
  }
  return architecture;
}

const HfFamily* find_family(const ModelName& name) {
  for (const HfFamily* family : hf_families()) {
    if (name.type
            ? *name.type == family->model_type
            : name.architecture && name.architecture->starts_with(
                                       first_part(family->architecture))) {
      return family;
    }
  }
  return nullptr;
}

Result<const HfFamily*> read_family(std::string_view text,
                                    const std::string& file_name) {
  Diagnostics errors;
  JsonReader json(text, file_name, errors, hf_json_codes());
  const ModelName name = read_name(json);
  if (!errors.empty()) return errors;
  if (const HfFamily* family = find_family(name)) return family;
  std::vector<std::string> types;
  for (const HfFamily* family : hf_families()) {
    types.emplace_back(family->model_type);
  }
  Diagnostic error{.kind = DiagnosticKind::kData,
                   .code = "E525",
                   .where = file_name,
                   .found = "no model_type",
                   .needed = "is not one of " + join(types, ", "),
                   .hint = "docs/models.md lists the models that can be read"};
  if (name.architecture) {
    error.found = "architectures = [\"" + shown(*name.architecture) + "\"]";
  }
  if (name.type) error.found = "model_type = \"" + shown(*name.type) + "\"";
  return error;
}

class ConfigReader {
 public:
  ConfigReader(std::string_view text, const std::string& file_name,
               const HfFamily& family)
      : json_(text, file_name, errors_, hf_json_codes()),
        family_(family),
        llama_(json_, shape_) {
    shape_.model.kind = family.kind;
    shape_.model.tie_embeddings = family.tie_embeddings;
    shape_.layer_norm_epsilon = family.layer_norm_epsilon;
    if (is_llama()) {
      shape_.model.llama.variant = family.variant;
      shape_.embedding_dropout = shape_.hidden_dropout = 0;
      shape_.attention_dropout = 0;  // default value of transformers
    }
    if (is_bert()) {
      shape_.type_vocab = 2;
      shape_.padding_id = 0;  // default value of transformers
    }
  }

  Result<HfShape> run();

 private:
  [[nodiscard]] bool is_bert() const {
    return family_.kind == ModelKind::kBert;
  }
  // GPT-2 alone has a default: 4 * n_embd.
  [[nodiscard]] bool needs_ffn() const {
    return family_.kind != ModelKind::kGpt2;
  }
  [[nodiscard]] bool is_llama() const {
    return family_.kind == ModelKind::kLlama;
  }
  void read(const std::string& key);
  bool read_number(const std::string& key);
  bool read_bert_number(const std::string& key);
  bool read_choice(const std::string& key);
  void read_size(const std::string& key, int most, int& out);
  void read_real(const std::string& key, double& out);
  void read_flag(const std::string& key, bool needed);
  void read_text(const std::string& key, std::string_view needed);
  void fill();

  Diagnostics errors_;
  JsonReader json_;
  const HfFamily& family_;
  HfShape shape_;
  HfLlamaReader llama_;
  std::set<std::string> seen_;
};

void ConfigReader::read_size(const std::string& key, int most, int& out) {
  const std::optional<int> value = json_.integer(key);
  if (!value) return;
  out = *value;
  if (*value < 1 || *value > most) {
    json_.refuse("E522", fmt::format("{} = {}", key, *value),
                 fmt::format("must be from 1 to {}", most));
  }
}

void ConfigReader::read_real(const std::string& key, double& out) {
  const std::optional<double> value = json_.real(key);
  if (!value) return;
  out = *value;
  if (*value < 0 || *value >= 1) {
    json_.refuse("E522", fmt::format("{} = {}", key, *value),
                 "must be at least 0 and below 1");
  }
}

void ConfigReader::read_flag(const std::string& key, bool needed) {
  const std::optional<bool> value = json_.boolean(key);
  if (value && *value != needed) {
    json_.refuse("E526", fmt::format("{} = {}", key, *value),
                 fmt::format("must be {}", needed));
  }
}

void ConfigReader::read_text(const std::string& key, std::string_view needed) {
  const std::optional<std::string> value = json_.string(key);
  if (value && *value != needed) {
    json_.refuse("E526", key + " = \"" + shown(*value) + "\"",
                 fmt::format("must be \"{}\"", needed));
  }
}

bool ConfigReader::read_number(const std::string& key) {
  for (const HfSizeKey& size : family_.sizes) {
    if (key != size.name) continue;
    read_size(key, size.most, shape_.model.*size.field);
    return true;
  }
  for (const HfRealKey& real : family_.reals) {
    if (key != real.name) continue;
    read_real(key, shape_.*real.field);
    return true;
  }
  if (key == family_.ffn) {
    if (needs_ffn() || !json_.null()) {
      read_size(key, kMostHfSize, shape_.model.ffn);
    }
    return true;
  }
  if (is_llama()) return llama_.read(key);
  return is_bert() && read_bert_number(key);
}

bool ConfigReader::read_bert_number(const std::string& key) {
  if (key == "type_vocab_size") {
    read_size(key, kMostHfSize, shape_.type_vocab);
    return true;
  }
  if (key != "pad_token_id") return false;
  shape_.padding_id = json_.null() ? -1 : json_.integer(key).value_or(0);
  return true;
}

bool ConfigReader::read_choice(const std::string& key) {
  for (const HfFixedKey& fixed : family_.fixed) {
    if (key != fixed.name) continue;
    read_flag(key, fixed.value);
    return true;
  }
  if (key == family_.activation_key) {
    read_text(key, family_.activation);
  } else if (is_bert() && key == "position_embedding_type") {
    read_text(key, "absolute");
  } else if (key == "tie_word_embeddings") {
    shape_.model.tie_embeddings =
        json_.boolean(key).value_or(family_.tie_embeddings);
  } else {
    return false;
  }
  return true;
}

void ConfigReader::read(const std::string& key) {
  if (!read_number(key) && !read_choice(key)) {
    json_.skip();
  } else if (!seen_.insert(key).second) {
    json_.refuse("E523", "key \"" + key + "\"", "is there twice");
  }
}

// Fills in defaults and compares keys that must agree.
void ConfigReader::fill() {
  ModelShape& model = shape_.model;
  const auto need = [&](std::string_view key) {
    if (!seen_.contains(std::string(key))) {
      json_.refuse_file("E524", fmt::format("key \"{}\"", key), "is missing");
    }
  };
  for (const HfSizeKey& size : family_.sizes) need(size.name);
  if (needs_ffn()) need(family_.ffn);
  if (!errors_.empty()) return;
  if (model.ffn == 0) model.ffn = 4 * model.hidden;
  model.seq = model.positions;
  if (is_bert()) shape_.embedding_dropout = shape_.hidden_dropout;
  if (shape_.padding_id < -1 || shape_.padding_id >= model.vocab) {
    json_.refuse_file(
        "E522", fmt::format("pad_token_id = {}", shape_.padding_id),
        fmt::format("must be below vocab_size = {}", model.vocab));
  }
  if (model.hidden % model.heads != 0) {
    json_.refuse_file(
        "E527", fmt::format("{} = {}", family_.sizes[1].name, model.hidden),
        fmt::format("must be a multiple of {} = {}", family_.sizes[2].name,
                    model.heads));
  }
  if (!is_llama()) return;
  for (const auto& [code, found, needed] : llama_.finish()) {
    json_.refuse_file(code, found, needed);
  }
}

Result<HfShape> ConfigReader::run() {
  json_.object("the document", [&](const std::string& key) { read(key); });
  json_.finish();
  if (!json_.failed()) fill();
  if (!errors_.empty()) return errors_;
  return shape_;
}

}  // namespace

Result<HfShape> parse_hf_config(std::string_view text,
                                const std::string& file_name) {
  const Result<const HfFamily*> family = read_family(text, file_name);
  if (!family) return family.errors();
  return ConfigReader(text, file_name, **family).run();
}

}  // namespace chimera
