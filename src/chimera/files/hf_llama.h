// The keys of config.json that only the Llama family has: grouped heads, rotary
// positions, windows and the tokens around a text. Rotary positions have two
// spellings: rope_theta and rope_scaling up to transformers 4, rope_parameters
// since 5. Both are read; the older one is written, which all versions read.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "chimera/base/json_reader.h"
#include "chimera/files/hf_config.h"

namespace chimera {

// A mistake about the document as a whole, without a line.
struct HfLlamaMistake {
  const char* code;
  std::string found;
  std::string needed;
};

class HfLlamaReader {
 public:
  // Stores in `shape` what it reads. REQUIRES: both arguments outlive this
  // object.
  HfLlamaReader(JsonReader& json, HfShape& shape)
      : json_(json), shape_(shape) {}

  // Reads the value of `key`. Returns false, with the value left in place, if
  // `key` is not one of the Llama family's.
  bool read(const std::string& key);

  // Fills in defaults. Returns missing keys and contradictions.
  [[nodiscard]] std::vector<HfLlamaMistake> finish();

 private:
  void read_count(const std::string& key, int& out);
  void read_rope(const std::string& name);
  void read_rope_key(const std::string& key);
  void read_rope_type(const std::string& key);
  void read_positive(const std::string& key, double least, double& out);
  void read_partial(const std::string& key);
  void read_eos(const std::string& key);

  JsonReader& json_;
  HfShape& shape_;
  // The keys of rope_scaling or rope_parameters that were given.
  std::vector<std::string> rope_keys_;
};

// Keys and JSON values of a Llama's config.json.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> hf_llama_lines(
    const HfShape& shape);

// A number with a decimal point: Python distinguishes 0 from 0.0, and some
// readers insist on a float.
[[nodiscard]] std::string json_real(double value);

}  // namespace chimera
