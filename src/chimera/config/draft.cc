#include "chimera/config/draft.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "chimera/base/check.h"

namespace chimera {
namespace {

const ConfigKey& key_called(std::string_view name) {
  const std::size_t dot = name.find('.');
  CHIMERA_CHECK(dot != std::string_view::npos, std::string(name));
  const ConfigKey* key = find_key(name.substr(0, dot), name.substr(dot + 1));
  CHIMERA_CHECK(key != nullptr, std::string(name));
  return *key;
}

// An example value for a key that every run needs.
std::string_view example_of(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kExamples[] = {
      {"train.steps", "1000"},    {"train.lr", "3e-4"},
      {"data.path", "\"a.txt\""}, {"schedule.depth", "4"},
      {"schedule.micros", "4"},   {"schedule.micro_batch", "1"}};
  for (const auto& [key, value] : kExamples) {
    if (key == name) return value;
  }
  return "...";
}

}  // namespace

void Draft::note_given(const ConfigKey& key, const SourcePlace& place) {
  given_[&key] = place;
}

void Draft::note_refused(const ConfigKey& key) { refused_.insert(&key); }

void Draft::note_dropped(const ConfigKey& key) { given_.erase(&key); }

bool Draft::is_given(std::string_view name) const {
  return given_.count(&key_called(name)) > 0;
}

bool Draft::has_section(std::string_view section) const {
  return std::any_of(given_.begin(), given_.end(), [section](const auto& item) {
    return item.first->section == section;
  });
}

bool Draft::are_sound(std::initializer_list<std::string_view> names) const {
  return std::none_of(names.begin(), names.end(), [this](auto name) {
    return refused_.count(&key_called(name)) > 0;
  });
}

SourcePlace Draft::place_of(
    std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names) {
    const auto found = given_.find(&key_called(name));
    if (found != given_.end()) return found->second;
  }
  return file_;
}

void Draft::report(const SourcePlace& place, Diagnostic diagnostic) {
  diagnostic.where = place.text;
  findings_.push_back({place.line, std::move(diagnostic)});
}

void Draft::report_missing(std::string_view name) {
  const ConfigKey& key = key_called(name);
  if (meant_.contains(name) || meant_.contains(key.section)) return;
  if (!are_sound({name}) || !missing_.insert(&key).second) return;
  report(place_of({name}), missing_key(name));
}

Diagnostics Draft::diagnostics() const {
  std::vector<Finding> sorted = findings_;
  std::stable_sort(
      sorted.begin(), sorted.end(),
      [](const Finding& a, const Finding& b) { return a.line < b.line; });
  Diagnostics diagnostics;
  for (Finding& finding : sorted) {
    diagnostics.push_back(std::move(finding.diagnostic));
  }
  return diagnostics;
}

Diagnostic missing_key(std::string_view name) {
  const ConfigKey& key = key_called(name);
  const bool is_shape = key.use == KeyUse::kTransformer || name == "model.kind";
  return {.code = "E020",
          .where = "",
          .found = std::string(name),
          .needed = "is missing",
          .hint = fmt::format("set {} = {} below [{}]{}", key.name,
                              example_of(name), key.section,
                              is_shape ? ", or a preset" : "")};
}

}  // namespace chimera
