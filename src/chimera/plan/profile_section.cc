#include "chimera/plan/profile_section.h"

#include <cmath>

#include "chimera/base/text.h"

namespace chimera {
namespace {

std::optional<double> number_of(const TomlValue& value) {
  if (const auto* real = std::get_if<double>(&value.data)) return *real;
  if (const auto* whole = std::get_if<std::int64_t>(&value.data)) {
    return static_cast<double>(*whole);
  }
  return std::nullopt;
}

std::vector<std::string> as_strings(Names names) {
  return {names.begin(), names.end()};
}

std::string did_you_mean(std::string_view name,
                         const std::vector<std::string>& candidates) {
  const std::string near = nearest_name(name, candidates);
  return near.empty() ? "" : "did you mean " + near + "?";
}

}  // namespace

bool ProfileSection::has(std::string_view key) const {
  for (const TomlEntry& entry : section_.entries) {
    if (entry.name == key) return true;
  }
  return false;
}

void ProfileSection::refuse(std::string_view key, Diagnostic error) {
  error.where = section_.place.text;
  for (const TomlEntry& entry : section_.entries) {
    if (entry.name == key) error.where = entry.place.text;
  }
  errors_.push_back(std::move(error));
}

const TomlEntry* ProfileSection::find(std::string_view key, Need need) {
  // Counts a key that is asked for as known, whatever its value.
  asked_.emplace(key);
  for (const TomlEntry& entry : section_.entries) {
    if (entry.name == key) return &entry;
  }
  if (need == Need::kRequired) {
    refuse(key, {.code = "E020",
                 .found = shown(section_.name) + "." + std::string(key),
                 .needed = "is missing"});
  }
  return nullptr;
}

void ProfileSection::refuse_type(const TomlEntry& entry,
                                 std::string_view type) {
  refuse(entry.name, {.code = "E007",
                      .found = shown(std::string_view(entry.name)) + " = " +
                               shown(entry.value),
                      .needed = "must be " + std::string(type) + ", not " +
                                type_name(entry.value)});
}

std::optional<double> ProfileSection::in_range(const TomlEntry& entry,
                                               const TomlValue& value,
                                               NumberRange range) {
  const std::optional<double> given = number_of(value);
  if (!given) {
    refuse_type(entry, &value == &entry.value ? "a number" : "all numbers");
    return std::nullopt;
  }
  if (std::isfinite(*given) && *given >= range.least && *given <= range.most) {
    return given;
  }
  refuse(entry.name,
         {.code = "E008",
          .found = shown(std::string_view(entry.name)) + " = " + shown(value),
          .needed = "must be between " + chimera::number(range.least) +
                    " and " + chimera::number(range.most)});
  return std::nullopt;
}

std::string ProfileSection::text(std::string_view key, Need need) {
  const TomlEntry* entry = find(key, need);
  if (entry == nullptr) return "";
  if (const auto* given = std::get_if<std::string>(&entry->value.data)) {
    return *given;
  }
  refuse_type(*entry, "a string");
  return "";
}

std::optional<double> ProfileSection::number(std::string_view key, Need need,
                                             NumberRange range) {
  const TomlEntry* entry = find(key, need);
  if (entry == nullptr) return std::nullopt;
  return in_range(*entry, entry->value, range);
}

int ProfileSection::count(std::string_view key, Need need) {
  const TomlEntry* entry = find(key, need);
  if (entry == nullptr) return 0;
  if (!std::holds_alternative<std::int64_t>(entry->value.data)) {
    refuse_type(*entry, "an integer");
    return 0;
  }
  return static_cast<int>(
      in_range(*entry, entry->value, {.least = 1, .most = 1e8}).value_or(0));
}

bool ProfileSection::flag(std::string_view key) {
  const TomlEntry* entry = find(key, Need::kOptional);
  if (entry == nullptr) return false;
  if (const auto* given = std::get_if<bool>(&entry->value.data)) return *given;
  refuse_type(*entry, "a boolean");
  return false;
}

std::optional<int> ProfileSection::choice(std::string_view key, Names names,
                                          Need need) {
  const std::size_t known = errors_.size();
  const std::string name = text(key, need);
  if (errors_.size() > known || !has(key)) return std::nullopt;
  for (size_t index = 0; index < names.size(); ++index) {
    if (names[index] == name) return static_cast<int>(index);
  }
  const std::vector<std::string> candidates = as_strings(names);
  refuse(key, {.code = "E009",
               .found = std::string(key) + " = \"" + shown(name) + "\"",
               .needed = "must be one of " + join(candidates, ", "),
               .hint = did_you_mean(name, candidates)});
  return std::nullopt;
}

std::vector<double> ProfileSection::numbers(std::string_view key, Need need,
                                            NumberRange range) {
  const TomlEntry* entry = find(key, need);
  if (entry == nullptr) return {};
  const auto* list = std::get_if<std::vector<TomlValue>>(&entry->value.data);
  if (list == nullptr) {
    refuse_type(*entry, "a list of numbers");
    return {};
  }
  if (list->empty() && need == Need::kRequired) {
    refuse(key, {.code = "E010",
                 .found = std::string(key),
                 .needed = "must have at least one number"});
  }
  std::vector<double> values;
  for (const TomlValue& value : *list) {
    const std::optional<double> given = in_range(*entry, value, range);
    if (!given) return {};
    values.push_back(*given);
  }
  return values;
}

void ProfileSection::refuse_unknown() {
  const std::vector<std::string> known(asked_.begin(), asked_.end());
  for (const TomlEntry& entry : section_.entries) {
    if (asked_.contains(entry.name)) continue;
    std::string hint = did_you_mean(entry.name, known);
    if (hint.empty()) hint = "known are " + join(known, ", ");
    refuse(entry.name, {.code = "E005",
                        .found = shown(std::string_view(section_.name)) + "." +
                                 shown(std::string_view(entry.name)),
                        .needed = "is not a key of this section",
                        .hint = hint});
  }
}

}  // namespace chimera
