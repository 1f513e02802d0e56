// TOML as this module needs it: sections of keys with scalars or flat lists,
// each with its line. Only toml_text.cc includes toml++, which is slow to
// compile and throws exceptions.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "chimera/base/result.h"

namespace chimera {

// The place at which a value was given. `line` only orders the errors.
struct SourcePlace {
  static constexpr int kWholeFile = std::numeric_limits<int>::max() - 1;
  static constexpr int kOverride = std::numeric_limits<int>::max();

  std::string text;  // "run.toml:14", "--set schedule.depth=4"
  int line = kWholeFile;
};

// A value that no key accepts: a table, a date, a list inside a list.
struct TomlOther {
  std::string type;  // "a table"
};

struct TomlValue {
  std::variant<bool, std::int64_t, double, std::string, std::vector<TomlValue>,
               TomlOther>
      data;
};

struct TomlEntry {
  std::string name;
  TomlValue value;
  SourcePlace place;
};

struct TomlSection {
  std::string name;
  SourcePlace place;
  std::vector<TomlEntry> entries;
};

struct TomlDocument {
  std::vector<TomlSection> sections;
  std::vector<TomlEntry> loose;  // keys above the first section
};

// Reads untrusted text. Errors: E001 (not TOML), E002 (too large, or nested too
// deeply to be read safely).
[[nodiscard]] Result<TomlDocument> read_toml(std::string_view text,
                                             const std::string& file_name);

// Reads the text to the right of "=" in --set: as TOML, or else as a plain
// string. Returns a TomlOther if it is neither (not UTF-8, or beyond the limits
// of E002).
[[nodiscard]] TomlValue read_toml_value(std::string_view text);

// Examples: "an integer", "a string"; for messages.
[[nodiscard]] std::string type_name(const TomlValue& value);

// The value on one line, shortened for a message.
[[nodiscard]] std::string shown(const TomlValue& value);

// A quoted TOML string that reads back as `text`. REQUIRES: `text` is UTF-8.
[[nodiscard]] std::string toml_string(std::string_view text);

}  // namespace chimera
