#include "chimera/files/hf_index.h"

#include <fmt/format.h>

#include "chimera/base/json_reader.h"
#include "chimera/base/text.h"
#include "chimera/files/safetensors.h"

namespace chimera {
namespace {

bool is_plain(std::string_view name) {
  return name.find_first_of(std::string_view("/\\\0", 3)) ==
             std::string_view::npos &&
         name.find("..") == std::string_view::npos &&
         name.ends_with(".safetensors");
}

void read_weight_map(JsonReader& json, HfIndex& index) {
  json.object("weight_map", [&](const std::string& tensor) {
    const auto file = json.string("file of \"" + shown(tensor) + "\"");
    if (!file) return;
    if (!is_plain(*file)) {
      json.refuse("E534", "file \"" + shown(*file) + "\"",
                  "must be the plain name of a .safetensors file");
    }
    if (!index.emplace(tensor, *file).second) {
      json.refuse("E523", "tensor \"" + shown(tensor) + "\"", "is there twice");
    }
  });
}

}  // namespace

Result<HfIndex> parse_hf_index(std::string_view text,
                               const std::string& file_name) {
  Diagnostics errors;
  JsonReader json(text, file_name, errors, hf_json_codes());
  HfIndex index;
  int maps = 0;
  json.object("the document", [&](const std::string& key) {
    if (key != "weight_map") {
      json.skip();
      return;
    }
    if (++maps == 2)
      json.refuse("E523", "key \"weight_map\"", "is there twice");
    read_weight_map(json, index);
  });
  json.finish();
  if (maps == 0 && errors.empty()) {
    json.refuse("E524", "key \"weight_map\"", "is missing");
  }
  if (!errors.empty()) return errors;
  return index;
}

std::string hf_index_text(const HfIndex& index, size_t total_bytes) {
  std::vector<std::string> lines;
  for (const auto& [tensor, file] : index) {
    lines.push_back("    " + json_string(tensor) + ": " + json_string(file));
  }
  return fmt::format(
      "{{\n  \"metadata\": {{\n    \"total_size\": {}\n  }},\n"
      "  \"weight_map\": {{\n{}\n  }}\n}}\n",
      total_bytes, join(lines, ",\n"));
}

}  // namespace chimera
