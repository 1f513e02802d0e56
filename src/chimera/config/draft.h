// A RunConfig in the making: what was given and where, what was refused, and
// every mistake found so far. Internal to this module; parse.h is its entry.
#pragma once

#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/config/keys.h"
#include "chimera/config/run_config.h"
#include "chimera/config/toml_text.h"

namespace chimera {

class Draft {
 public:
  explicit Draft(std::string file_name) : file_{std::move(file_name)} {}

  RunConfig config;

  // The file could not be read, so that nothing can be said about what is
  // missing from it or how its keys go together.
  bool unreadable = false;

  // config.model.kind is what the user asked for, not just the default.
  bool kind_known = false;

  // Remembers where `key` was given; the last one counts.
  void note_given(const ConfigKey& key, const SourcePlace& place);
  // A refused key was given, but its member of `config` means nothing.
  void note_refused(const ConfigKey& key);

  // As if the key had not been given.
  void note_dropped(const ConfigKey& key);

  // A misspelt name that was meant to be this section or "section.key", which
  // is not missing, then.
  void note_meant(const std::string& name) { meant_.insert(name); }

  // Names here and below are "section.key". REQUIRES: such a key exists.
  [[nodiscard]] bool is_given(std::string_view name) const;
  // Whether any key of this section was given.
  [[nodiscard]] bool has_section(std::string_view section) const;
  // False if any of these keys was refused. Every check that compares keys asks
  // this first: it would only repeat that mistake in other words.
  [[nodiscard]] bool are_sound(
      std::initializer_list<std::string_view> names) const;
  // Where the first of these keys that was given stands; the file otherwise.
  [[nodiscard]] SourcePlace place_of(
      std::initializer_list<std::string_view> names) const;

  // `diagnostic.where` is taken from `place`.
  void report(const SourcePlace& place, Diagnostic diagnostic);
  // E020, once; not if the key was refused or misspelt. (Given it may be: path
  // = "".)
  void report_missing(std::string_view name);
  // Everything reported, from the top of the file down, then overrides.
  [[nodiscard]] Diagnostics diagnostics() const;

 private:
  struct Finding {
    int line;
    Diagnostic diagnostic;
  };

  SourcePlace file_;
  std::map<const ConfigKey*, SourcePlace> given_;
  std::set<const ConfigKey*> refused_;
  std::set<const ConfigKey*> missing_;
  std::set<std::string, std::less<>> meant_;
  std::vector<Finding> findings_;
};

// E020 for the key called "section.key".
[[nodiscard]] Diagnostic missing_key(std::string_view name);

}  // namespace chimera
