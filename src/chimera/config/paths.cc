#include "chimera/config/paths.h"

#include <fmt/format.h>

#include "chimera/base/text.h"

namespace chimera {
namespace {

// The paths that `key` holds in `config`, without "" and the key's default.
std::vector<std::string*> paths_in(RunConfig& config, const ConfigKey& key) {
  if (!key.is_path) return {};
  std::vector<std::string*> paths;
  const KeyField field = key.field(config);
  if (auto* const* list = std::get_if<std::vector<std::string>*>(&field)) {
    for (std::string& path : **list) paths.push_back(&path);
    return paths;
  }
  RunConfig defaults;
  std::string* path = std::get<std::string*>(field);
  const std::string& word = *std::get<std::string*>(key.field(defaults));
  if (!path->empty() && *path != word) paths.push_back(path);
  return paths;
}

// The first path of `key` that does not exist; nullptr if all exist. Patterns
// are skipped; they are checked when their files are looked for.
const std::string* first_missing(RunConfig& config, const ConfigKey& key) {
  for (const std::string* path : paths_in(config, key)) {
    std::error_code ignored;
    const bool is_pattern = path->find_first_of("*?[") != std::string::npos;
    if (!is_pattern && !std::filesystem::exists(*path, ignored)) return path;
  }
  return nullptr;
}

}  // namespace

void start_path_at(const std::filesystem::path& folder, const ConfigKey& key,
                   RunConfig& config) {
  for (std::string* path : paths_in(config, key)) {
    *path = (folder / *path).lexically_normal().string();
  }
}

RunConfig with_absolute_paths(RunConfig config) {
  const std::filesystem::path here = std::filesystem::current_path();
  for (const ConfigKey& key : config_keys()) start_path_at(here, key, config);
  return config;
}

std::vector<const ConfigKey*> missing_inputs(RunConfig config) {
  std::vector<const ConfigKey*> missing;
  for (const ConfigKey& key : config_keys()) {
    const bool is_written = key.section == "run";
    if (!is_written && first_missing(config, key) != nullptr) {
      missing.push_back(&key);
    }
  }
  return missing;
}

Diagnostic missing_input(const ConfigKey& key, RunConfig config) {
  return {.code = "E012",
          .found = fmt::format("{} = \"{}\"", full_name(key),
                               shown(*first_missing(config, key))),
          .needed = "does not exist"};
}

}  // namespace chimera
