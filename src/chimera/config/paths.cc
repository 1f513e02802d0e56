#include "chimera/config/paths.h"

#include <fmt/format.h>

#include "chimera/base/text.h"

namespace chimera {
namespace {

// The path that `key` holds in `config`; nullptr if it holds none.
std::string* path_in(RunConfig& config, const ConfigKey& key) {
  if (!key.is_path) return nullptr;
  RunConfig defaults;
  std::string* path = std::get<std::string*>(key.field(config));
  const std::string& word = *std::get<std::string*>(key.field(defaults));
  return path->empty() || *path == word ? nullptr : path;
}

}  // namespace

void start_path_at(const std::filesystem::path& folder, const ConfigKey& key,
                   RunConfig& config) {
  std::string* path = path_in(config, key);
  if (path != nullptr) *path = (folder / *path).lexically_normal().string();
}

RunConfig with_absolute_paths(RunConfig config) {
  const std::filesystem::path here = std::filesystem::current_path();
  for (const ConfigKey& key : config_keys()) start_path_at(here, key, config);
  return config;
}

std::vector<const ConfigKey*> missing_inputs(RunConfig config) {
  std::vector<const ConfigKey*> missing;
  for (const ConfigKey& key : config_keys()) {
    const std::string* path = path_in(config, key);
    std::error_code ignored;
    const bool is_written = key.section == "run";
    if (path != nullptr && !is_written &&
        !std::filesystem::exists(*path, ignored)) {
      missing.push_back(&key);
    }
  }
  return missing;
}

Diagnostic missing_input(const ConfigKey& key, RunConfig config) {
  return {.code = "E012",
          .found = fmt::format("{} = \"{}\"", full_name(key),
                               shown(*path_in(config, key))),
          .needed = "does not exist"};
}

}  // namespace chimera
