// One section of a profile during parsing: typed access to its keys. Every
// mistake is recorded with its line, and so is every key that was never asked
// for.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/config/names.h"
#include "chimera/config/toml_text.h"

namespace chimera {

enum class Need { kRequired, kOptional };

struct NumberRange {
  double least = 0;
  double most = 1e12;
};

class ProfileSection {
 public:
  // REQUIRES: both arguments outlive this object.
  ProfileSection(const TomlSection& section, Diagnostics& errors)
      : section_(section), errors_(errors) {}

  // Each returns the key's value, or an empty value if the key is missing or
  // wrong. A mistake is recorded in that case, unless the key is optional and
  // missing.
  std::string text(std::string_view key, Need need);
  std::optional<double> number(std::string_view key, Need need,
                               NumberRange range = {});
  int count(std::string_view key, Need need);  // 0 if missing
  bool flag(std::string_view key);
  std::optional<int> choice(std::string_view key, Names names, Need need);
  std::vector<double> numbers(std::string_view key, Need need,
                              NumberRange range = {});

  [[nodiscard]] bool has(std::string_view key) const;
  // Records `error` at `key` if it was given, else at the section. Fills in the
  // error's place.
  void refuse(std::string_view key, Diagnostic error);
  // Records E005 for every key that was not asked for.
  void refuse_unknown();

 private:
  const TomlEntry* find(std::string_view key, Need need);
  void refuse_type(const TomlEntry& entry, std::string_view type);
  std::optional<double> in_range(const TomlEntry& entry, const TomlValue& value,
                                 NumberRange range);

  const TomlSection& section_;
  Diagnostics& errors_;
  std::set<std::string, std::less<>> asked_;
};

}  // namespace chimera
