// Every key of run.toml in one table: its name, where it is stored, what it may
// be. Parsing, suggestions for misspelt names, printing and completion all walk
// this table, so a new key is a member in run_config.h and a line in keys.cc.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "chimera/config/run_config.h"

namespace chimera {

// A member of a RunConfig. Its type is the type of the key.
using KeyField = std::variant<
    bool*, int*, std::int64_t*, double*, std::string*, std::array<double, 2>*,
    std::vector<int>*, std::vector<double>*, std::vector<std::string>*,
    std::optional<bool>*, std::optional<int>*, std::optional<double>*, Scale*,
    Sync*, std::optional<Shape>*, ModelKind*, std::optional<LlamaVariant>*,
    OptimizerKind*, LrDecay*, OnNan*, VoteMode*, SampleOrder*, TokenType*,
    Packing*, TransportKind*>;

// Which numbers a key takes (each number of a list). Always finite ones. The
// limits are whole numbers.
struct KeyRange {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool least_excluded = false;
  bool most_excluded = false;
  // An integer whose member is 0 where the file leaves it out.
  bool zero_is_absent = false;
};

// Which models a key is for.
enum class KeyUse { kAlways, kTransformer, kLlama, kEmulated };

struct ConfigKey {
  std::string_view section;
  std::string_view name;
  KeyField (*field)(RunConfig& config) = nullptr;
  KeyRange range = {};
  KeyUse use = KeyUse::kAlways;
  Names choices = {};  // of a text key; empty = any text
  bool is_path = false;
};

// In the order in which they are printed, the keys of a section together.
[[nodiscard]] const std::vector<ConfigKey>& config_keys();

// nullptr if there is none.
[[nodiscard]] const ConfigKey* find_key(std::string_view section,
                                        std::string_view name);

[[nodiscard]] std::vector<std::string> section_names();
[[nodiscard]] std::vector<std::string> key_names(std::string_view section);

// The sections that have a key of this name.
[[nodiscard]] std::vector<std::string> sections_with(std::string_view name);

// The names to choose from, of enumerations and text alike; empty = no list.
[[nodiscard]] Names choices_of(const ConfigKey& key);

// "model.layers".
[[nodiscard]] std::string full_name(const ConfigKey& key);

[[nodiscard]] bool is_used_by(const ConfigKey& key, ModelKind kind);

// `did you mean micros?`; empty if no candidate is near.
[[nodiscard]] std::string did_you_mean(
    std::string_view name, const std::vector<std::string>& candidates);

}  // namespace chimera
