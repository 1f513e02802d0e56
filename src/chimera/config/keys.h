// Every key of run.toml in one table: its name, its member of RunConfig, its
// legal values. Parsing, suggestions for misspelt names, printing and
// completion all walk this table. To add a key, add a member to run_config.h
// and a line to keys.cc.
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
using KeyField =
    std::variant<bool*, Recompute*, int*, std::int64_t*, double*, std::string*,
                 std::array<double, 2>*, std::vector<int>*,
                 std::vector<double>*, std::vector<std::string>*,
                 std::optional<bool>*, std::optional<int>*,
                 std::optional<double>*, Scale*, Sync*, std::optional<Shape>*,
                 ModelKind*, std::optional<LlamaVariant>*, OptimizerKind*,
                 LrDecay*, OnNan*, VoteMode*, Precision*, SampleOrder*,
                 TokenType*, Packing*, TransportKind*, DeviceKind*>;

// The numbers that a key accepts (each number of a list). They must be finite.
// The limits are whole numbers.
struct KeyRange {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool least_excluded = false;
  bool most_excluded = false;
  // True for an integer key that the file may leave out; its member is then 0.
  bool zero_is_absent = false;
};

// The models for which a key exists.
enum class KeyUse { kAlways, kTransformer, kLlama, kEmulated };

struct ConfigKey {
  std::string_view section;
  std::string_view name;
  KeyField (*field)(RunConfig& config) = nullptr;
  KeyRange range = {};
  KeyUse use = KeyUse::kAlways;
  Names choices = {};  // legal values of a text key; empty = any
  bool is_path = false;
};

// All keys in the order in which they are printed; the keys of a section are
// together.
[[nodiscard]] const std::vector<ConfigKey>& config_keys();

// Returns nullptr if there is no such key.
[[nodiscard]] const ConfigKey* find_key(std::string_view section,
                                        std::string_view name);

[[nodiscard]] std::vector<std::string> section_names();
[[nodiscard]] std::vector<std::string> key_names(std::string_view section);

// The sections that have a key of this name.
[[nodiscard]] std::vector<std::string> sections_with(std::string_view name);

// The legal names of a key, whether its type is an enumeration or text; empty =
// any text.
[[nodiscard]] Names choices_of(const ConfigKey& key);

// Example: "model.layers".
[[nodiscard]] std::string full_name(const ConfigKey& key);

[[nodiscard]] bool is_used_by(const ConfigKey& key, ModelKind kind);

// Example: `did you mean micros?`; empty if no candidate is similar.
[[nodiscard]] std::string did_you_mean(
    std::string_view name, const std::vector<std::string>& candidates);

}  // namespace chimera
