#include "chimera/config/print.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "chimera/base/text.h"
#include "chimera/config/keys.h"
#include "chimera/config/toml_text.h"

namespace chimera {
namespace {

std::string toml_of(bool value) { return value ? "true" : "false"; }
std::string toml_of(const Recompute& value) { return text_of(value); }
std::string toml_of(int value) { return std::to_string(value); }
std::string toml_of(std::int64_t value) { return std::to_string(value); }
// The shortest digits that read back as the same double.
std::string toml_of(double value) { return fmt::format("{}", value); }
std::string toml_of(const std::string& value) { return toml_string(value); }

template <NamedEnum E>
std::string toml_of(E value) {
  return toml_string(name_of(value));
}

template <class List>
std::string toml_list(const List& list) {
  std::vector<std::string> elements;
  elements.reserve(list.size());
  for (const auto& element : list) elements.push_back(toml_of(element));
  return "[" + join(elements, ", ") + "]";
}

std::string toml_of(const std::array<double, 2>& list) {
  return toml_list(list);
}
std::string toml_of(const std::vector<int>& list) { return toml_list(list); }
std::string toml_of(const std::vector<double>& list) {
  return list.size() == 1 ? toml_of(list[0]) : toml_list(list);
}
std::string toml_of(const std::vector<std::string>& list) {
  if (list.empty()) return toml_string("");
  return list.size() == 1 ? toml_of(list[0]) : toml_list(list);
}

// Returns "" for a missing value.
template <class T>
std::string toml_of(const std::optional<T>& value) {
  return value ? toml_of(*value) : "";
}

// Returns "" for a missing value.
template <class T>
std::string toml_of(const ConfigKey& key, const T& value) {
  if constexpr (std::is_same_v<T, int>) {
    if (key.range.zero_is_absent && value == 0) return "";
  }
  return toml_of(value);
}

}  // namespace

std::string print_run_config(const RunConfig& config) {
  RunConfig copy = config;  // the table of keys hands out mutable members
  std::string text;
  std::string_view section;
  for (const ConfigKey& key : config_keys()) {
    if (!is_used_by(key, config.model.kind)) continue;
    // For a model without a run, [schedule] is left out: with defaults alone it
    // would ask for a depth.
    if (key.section == "schedule" && config.schedule == ScheduleConfig{}) {
      continue;
    }
    const std::string value =
        std::visit([&](const auto* member) { return toml_of(key, *member); },
                   key.field(copy));
    if (value.empty()) continue;
    if (key.section != section) {
      text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", key.section);
      section = key.section;
    }
    text += fmt::format("{} = {}\n", key.name, value);
  }
  return text;
}

std::vector<std::string> key_lines(const std::string& printed) {
  std::vector<std::string> keys;
  std::string section;
  for (const std::string_view line : split(printed, '\n')) {
    if (line.starts_with('[')) {
      section = std::string(line.substr(1, line.find(']') - 1)) + ".";
    } else if (!line.empty()) {
      keys.push_back(section + std::string(line));
    }
  }
  return keys;
}

}  // namespace chimera
