// One section of a profile while it is read: typed access to its keys, every
// mistake noted with its line, and in the end those keys that nobody asked for.
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
  // Both must outlive this.
  ProfileSection(const TomlSection& section, Diagnostics& errors)
      : section_(section), errors_(errors) {}

  // Absent where the key is missing or wrong; a mistake is noted then, except
  // for an optional key that is missing.
  std::string text(std::string_view key, Need need);
  std::optional<double> number(std::string_view key, Need need,
                               NumberRange range = {});
  int count(std::string_view key, Need need);  // 0 where absent
  bool flag(std::string_view key);
  std::optional<int> choice(std::string_view key, Names names, Need need);
  std::vector<double> numbers(std::string_view key, Need need,
                              NumberRange range = {});

  [[nodiscard]] bool has(std::string_view key) const;
  // At `key` if it was given, else at the section. The place is filled in.
  void refuse(std::string_view key, Diagnostic error);
  // E005 for every key that none of the above was asked for.
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
