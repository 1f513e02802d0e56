#include "chimera/files/hf_llama.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "chimera/base/text.h"
#include "chimera/files/hf_family.h"

namespace chimera {
namespace {

constexpr double kMostFactor = 1e9;

bool has(const std::vector<std::string>& keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

std::string rope_scaling_text(const Rope& rope) {
  if (rope.type == RopeType::kDefault) return "null";
  std::string text = fmt::format("{{\"rope_type\": \"{}\", \"factor\": {}",
                                 name_of(rope.type), json_real(rope.factor));
  if (rope.type == RopeType::kLlama3) {
    text += fmt::format(
        ", \"low_freq_factor\": {}, \"high_freq_factor\": {}, "
        "\"original_max_position_embeddings\": {}",
        json_real(rope.low_freq_factor), json_real(rope.high_freq_factor),
        rope.original_positions);
  }
  return text + "}";
}

std::string eos_text(const std::vector<int>& ids) {
  if (ids.empty()) return "null";
  if (ids.size() == 1) return std::to_string(ids[0]);
  std::vector<std::string> words;
  words.reserve(ids.size());
  for (const int id : ids) words.push_back(std::to_string(id));
  return "[" + join(words, ", ") + "]";
}

}  // namespace

void HfLlamaReader::read_count(const std::string& key, int& out) {
  if (json_.null()) return;
  const std::optional<int> value = json_.integer(key);
  if (!value) return;
  out = *value;
  if (*value >= 1 && *value <= kMostHfSize) return;
  json_.refuse("E522", fmt::format("{} = {}", key, *value),
               fmt::format("must be from 1 to {}", kMostHfSize));
}

void HfLlamaReader::read_positive(const std::string& key, double least,
                                  double& out) {
  const std::optional<double> value = json_.real(key);
  if (!value) return;
  out = *value;
  if (*value >= least && *value <= kMostFactor) return;
  json_.refuse("E522", fmt::format("{} = {}", key, *value),
               fmt::format("must be from {} to {}", least, kMostFactor));
}

void HfLlamaReader::read_partial(const std::string& key) {
  const std::optional<double> value = json_.real(key);
  if (!value || *value == 1) return;
  // Heads of which only a part is rotated are not supported.
  json_.refuse("E526", fmt::format("{} = {}", key, *value), "must be 1");
}

void HfLlamaReader::read_rope_type(const std::string& key) {
  const std::optional<std::string> name = json_.string(key);
  if (!name) return;
  if (const auto type = find_named<RopeType>(*name)) {
    shape_.model.llama.rope.type = *type;
    return;
  }
  const Names known = names_of(RopeType{});
  json_.refuse(
      "E526", key + " = \"" + shown(*name) + "\"",
      "must be one of " +
          join(std::vector<std::string>(known.begin(), known.end()), ", "));
}

void HfLlamaReader::read_rope_key(const std::string& key) {
  Rope& rope = shape_.model.llama.rope;
  rope_keys_.push_back(key);
  if (key == "rope_type" || key == "type") {
    read_rope_type(key);
  } else if (key == "rope_theta") {
    read_positive(key, 1, rope.theta);
  } else if (key == "factor") {
    read_positive(key, 1, rope.factor);
  } else if (key == "low_freq_factor") {
    read_positive(key, 0, rope.low_freq_factor);
  } else if (key == "high_freq_factor") {
    read_positive(key, 0, rope.high_freq_factor);
  } else if (key == "original_max_position_embeddings") {
    read_count(key, rope.original_positions);
  } else if (key == "partial_rotary_factor") {
    read_partial(key);
  } else {
    json_.skip();
  }
}

void HfLlamaReader::read_rope(const std::string& name) {
  if (json_.null()) return;
  json_.object(name, [&](const std::string& key) { read_rope_key(key); });
}

void HfLlamaReader::read_eos(const std::string& key) {
  if (json_.null()) return;
  const auto add = [&] {
    if (const auto id = json_.integer(key)) shape_.eos_ids.push_back(*id);
  };
  if (json_.first_character() == '[') {
    json_.array(key, add);
  } else {
    add();
  }
}

bool HfLlamaReader::read(const std::string& key) {
  LlamaShape& llama = shape_.model.llama;
  const bool has_window = llama.variant == LlamaVariant::kMistral;
  if (key == "num_key_value_heads") {
    read_count(key, llama.kv_heads);
  } else if (key == "head_dim") {
    read_count(key, llama.head_dim);
  } else if (key == "rope_theta") {
    double theta = llama.rope.theta;
    read_positive(key, 1, theta);
    // The value inside of rope_parameters takes precedence.
    if (!has(rope_keys_, key)) llama.rope.theta = theta;
  } else if (key == "rope_scaling" || key == "rope_parameters") {
    read_rope(key);
  } else if (key == "partial_rotary_factor") {
    read_partial(key);
  } else if (key == "sliding_window" && has_window) {
    read_count(key, llama.window);
  } else if (key == "bos_token_id") {
    if (!json_.null()) shape_.bos_id = json_.integer(key).value_or(-1);
  } else if (key == "eos_token_id") {
    read_eos(key);
  } else {
    return false;
  }
  return true;
}

std::vector<HfLlamaMistake> HfLlamaReader::finish() {
  ModelShape& model = shape_.model;
  LlamaShape& llama = model.llama;
  std::vector<HfLlamaMistake> mistakes;
  // Sets the default of plain Llama only: the defaults of other variants
  // differ, and no file relies on them.
  if (llama.variant == LlamaVariant::kLlama && llama.kv_heads == 0) {
    llama.kv_heads = model.heads;
  }
  if (llama.variant != LlamaVariant::kQwen3 && llama.head_dim == 0) {
    llama.head_dim = model.hidden / model.heads;
  }
  const auto need = [&](bool there, const std::string& key) {
    if (there) return;
    mistakes.push_back({"E524", "key \"" + key + "\"", "is missing"});
  };
  need(llama.kv_heads > 0, "num_key_value_heads");
  need(llama.head_dim > 0, "head_dim");
  const Rope& rope = llama.rope;
  need(rope.type == RopeType::kDefault || has(rope_keys_, "factor"), "factor");
  if (rope.type == RopeType::kLlama3) {
    for (const char* key : {"low_freq_factor", "high_freq_factor",
                            "original_max_position_embeddings"}) {
      need(has(rope_keys_, key), key);
    }
    if (rope.low_freq_factor >= rope.high_freq_factor) {
      mistakes.push_back(
          {"E522", fmt::format("low_freq_factor = {}", rope.low_freq_factor),
           fmt::format("must be below high_freq_factor = {}",
                       rope.high_freq_factor)});
    }
  }
  if (!mistakes.empty()) return mistakes;
  if (model.heads % llama.kv_heads != 0) {
    mistakes.push_back(
        {"E527", fmt::format("num_key_value_heads = {}", llama.kv_heads),
         fmt::format("must divide num_attention_heads = {}", model.heads)});
  }
  if (llama.head_dim % 2 != 0) {
    mistakes.push_back(
        {"E522", fmt::format("head_dim = {}", llama.head_dim), "must be even"});
  }
  return mistakes;
}

std::vector<std::pair<std::string, std::string>> hf_llama_lines(
    const HfShape& shape) {
  const LlamaShape& llama = shape.model.llama;
  std::vector<std::pair<std::string, std::string>> lines = {
      {"num_key_value_heads", std::to_string(llama.kv_heads)},
      {"head_dim", std::to_string(llama.head_dim)},
      {"rope_theta", json_real(llama.rope.theta)},
      {"rope_scaling", rope_scaling_text(llama.rope)},
      {"bos_token_id",
       shape.bos_id < 0 ? "null" : std::to_string(shape.bos_id)},
      {"eos_token_id", eos_text(shape.eos_ids)}};
  if (llama.variant == LlamaVariant::kMistral) {
    lines.emplace_back("sliding_window", llama.window == 0
                                             ? "null"
                                             : std::to_string(llama.window));
  }
  return lines;
}

std::string json_real(double value) {
  const std::string text = fmt::format("{}", value);
  const bool is_real = text.find_first_of(".e") != std::string::npos;
  return is_real ? text : text + ".0";
}

}  // namespace chimera
