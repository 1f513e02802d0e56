#include "chimera/config/gather.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "chimera/base/text.h"
#include "chimera/config/paths.h"
#include "chimera/config/store.h"

namespace chimera {
namespace {

// The last value of each key. Only these are checked.
using Winners = std::map<const ConfigKey*, TomlEntry>;

// Names the section in which a key of this name exists.
std::string section_hint(std::string_view name) {
  const std::vector<std::string> sections = sections_with(name);
  if (sections.empty()) return "";
  return fmt::format("{} belongs to [{}]", name, sections.front());
}

void report_section(const std::string& name, const SourcePlace& place,
                    Draft& draft) {
  const std::vector<std::string> names = section_names();
  draft.note_meant(nearest_name(name, names));
  draft.report(place, {.code = "E004",
                       .where = "",
                       .found = fmt::format("section [{}]", shown(name)),
                       .needed = "must be one of " + join(names, ", "),
                       .hint = did_you_mean(name, names)});
}

void report_key(std::string_view section, const std::string& name,
                const SourcePlace& place, Draft& draft) {
  const std::vector<std::string> names = key_names(section);
  draft.note_meant(fmt::format("{}.{}", section, nearest_name(name, names)));
  std::string hint = section_hint(name);
  if (hint.empty()) hint = did_you_mean(name, names);
  if (hint.empty()) hint = "known are " + join(names, ", ");
  draft.report(place, {.code = "E005",
                       .where = "",
                       .found = fmt::format("{}.{}", section, shown(name)),
                       .needed = fmt::format("is not a key of [{}]", section),
                       .hint = std::move(hint)});
}

// Reports a key above the first section, or a section's name used for a value.
void report_loose(const TomlEntry& entry, Draft& draft) {
  const bool is_section = !key_names(entry.name).empty();
  draft.report(
      entry.place,
      {.code = "E006",
       .where = "",
       .found = fmt::format("{} = {}", shown(entry.name), shown(entry.value)),
       .needed =
           is_section ? "must be a section" : "must stand below a [section]",
       .hint = is_section ? fmt::format("write [{}]", entry.name)
                          : section_hint(entry.name)});
}

// Takes one key of a section that exists.
void take(std::string_view section, const TomlEntry& entry, Winners& winners,
          Draft& draft) {
  const ConfigKey* key = find_key(section, entry.name);
  if (key == nullptr) {
    report_key(section, entry.name, entry.place, draft);
    return;
  }
  draft.note_given(*key, entry.place);
  winners[key] = entry;
}

void take_file(const TomlDocument& document, Winners& winners, Draft& draft) {
  for (const TomlEntry& entry : document.loose) report_loose(entry, draft);
  for (const TomlSection& section : document.sections) {
    if (key_names(section.name).empty()) {
      report_section(section.name, section.place, draft);
      continue;
    }
    for (const TomlEntry& entry : section.entries) {
      take(section.name, entry, winners, draft);
    }
  }
}

void report_override(const SourcePlace& place, std::string_view name,
                     Draft& draft) {
  const std::vector<std::string> sections = sections_with(name);
  draft.report(
      place, {.code = "E003",
              .where = "",
              .found = "the override",
              .needed = "must read section.key=value",
              .hint = sections.empty() ? "for example --set train.steps=100"
                                       : fmt::format("did you mean {}.{}?",
                                                     sections.front(), name)});
}

void take_override(std::string_view text, Winners& winners, Draft& draft) {
  const SourcePlace place{"--set " + shown(text), SourcePlace::kOverride};
  const std::size_t equals = text.find('=');
  const std::string_view name = trim(text.substr(0, equals));
  const std::size_t dot = name.find('.');
  if (equals == std::string_view::npos || dot == std::string_view::npos) {
    report_override(place, name, draft);
    return;
  }
  const std::string section(name.substr(0, dot));
  if (key_names(section).empty()) {
    report_section(section, place, draft);
    return;
  }
  take(section,
       {std::string(name.substr(dot + 1)),
        read_toml_value(trim(text.substr(equals + 1))), place},
       winners, draft);
}

bool is_override(const TomlEntry& entry) {
  return entry.place.line == SourcePlace::kOverride;
}

// Lets a preset from --set replace the whole model: drops what the file says
// about it, except the dropout, which is not part of the shape.
void let_preset_win(Winners& winners, Draft& draft) {
  const ConfigKey* preset = find_key("model", "preset");
  const auto given = winners.find(preset);
  if (given == winners.end() || !is_override(given->second)) return;
  std::vector<std::string> dropped;
  for (const ConfigKey& key : config_keys()) {
    const auto found = winners.find(&key);
    if (key.section != "model" || key.name == "dropout" ||
        found == winners.end() || is_override(found->second)) {
      continue;
    }
    dropped.push_back(full_name(key));
    winners.erase(found);
    draft.note_dropped(key);
  }
  if (dropped.empty()) return;
  draft.config.notes.push_back(given->second.place.text + " replaces " +
                               join(dropped, ", ") + " of the file");
}

void store_all(const Winners& winners, const std::string& file_name,
               Draft& draft) {
  const auto folder = std::filesystem::path(file_name).parent_path();
  for (const auto& [key, entry] : winners) {
    if (auto refusal = store(*key, entry.value, draft.config)) {
      draft.note_refused(*key);
      draft.report(entry.place, *refusal);
    } else if (!is_override(entry)) {
      start_path_at(folder, *key, draft.config);
    }
  }
}

}  // namespace

Draft gather(std::string_view text, const std::string& file_name,
             const std::vector<std::string>& overrides) {
  Draft draft(file_name);
  Winners winners;
  const Result<TomlDocument> document = read_toml(text, file_name);
  if (document) {
    take_file(*document, winners, draft);
  } else {
    draft.unreadable = true;
    for (const Diagnostic& error : document.errors()) {
      draft.report({error.where, 0}, error);
    }
  }
  for (const std::string& override_text : overrides) {
    take_override(override_text, winners, draft);
  }
  let_preset_win(winners, draft);
  store_all(winners, file_name, draft);
  return draft;
}

}  // namespace chimera
