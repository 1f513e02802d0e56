// A RunConfig under construction: which keys were given and where, which were
// refused, and every mistake so far. Internal to this module; parse.h is its
// entry point.
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

  // The file could not be read, so missing keys and contradictions between keys
  // cannot be reported.
  bool unreadable = false;

  // True if config.model.kind was given or follows from the preset, false if it
  // is only the default.
  bool kind_known = false;

  // Records where `key` was given. The last place counts.
  void note_given(const ConfigKey& key, const SourcePlace& place);
  // Records that `key` was given with a value that was refused, so its member
  // of `config` has no meaning.
  void note_refused(const ConfigKey& key);

  // Forgets that the key was given.
  void note_dropped(const ConfigKey& key);

  // Records that a misspelt name was meant to be this section or "section.key",
  // which is therefore not reported as missing.
  void note_meant(const std::string& name) { meant_.insert(name); }

  // Names here and below have the form "section.key". REQUIRES: such a key
  // exists.
  [[nodiscard]] bool is_given(std::string_view name) const;
  // True if any key of this section was given.
  [[nodiscard]] bool has_section(std::string_view section) const;
  // False if any of these keys was refused. Every check that compares keys asks
  // this first, because it would only repeat that mistake in other words.
  [[nodiscard]] bool are_sound(
      std::initializer_list<std::string_view> names) const;
  // The place of the first of these keys that was given, else the file.
  [[nodiscard]] SourcePlace place_of(
      std::initializer_list<std::string_view> names) const;

  // Sets `diagnostic.where` to `place` and records it.
  void report(const SourcePlace& place, Diagnostic diagnostic);
  // Reports E020 once, unless the key was refused or misspelt. (The key may be
  // given, as in path = "".)
  void report_missing(std::string_view name);
  // All reports, in the order of the file, then those about overrides.
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

// The E020 of the key "section.key".
[[nodiscard]] Diagnostic missing_key(std::string_view name);

}  // namespace chimera
