#include "chimera/config/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "chimera/base/text.h"

namespace chimera {
namespace {

using Refusal = std::optional<Diagnostic>;
using TomlList = std::vector<TomlValue>;

// The place of the value being read: a key, or one element of its list.
struct Slot {
  const ConfigKey& key;
  std::string name;  // "train.betas", "train.betas[1]"
};

std::string found_text(const Slot& slot, const TomlValue& value) {
  return fmt::format("{} = {}", slot.name, shown(value));
}

// The most common mistakes of type are missing or needless quotes.
std::string quotes_hint(const TomlValue& value, std::string_view needed) {
  const bool wants_text = needed == "a string";
  if (const auto* text = std::get_if<std::string>(&value.data)) {
    const TomlValue bare = read_toml_value(*text);
    const bool is_text = std::holds_alternative<std::string>(bare.data);
    return wants_text || is_text ? "" : "write it without quotes";
  }
  const bool is_other = std::holds_alternative<TomlOther>(value.data);
  return wants_text && !is_other ? "write it in quotes" : "";
}

Diagnostic wrong_type(const Slot& slot, const TomlValue& value,
                      std::string_view needed) {
  return {.code = "E007",
          .where = "",
          .found =
              fmt::format("{} ({})", found_text(slot, value), type_name(value)),
          .needed = fmt::format("must be {}", needed),
          .hint = quotes_hint(value, needed)};
}

Diagnostic out_of_range(const Slot& slot, const TomlValue& value,
                        std::string needed) {
  return {.code = "E008",
          .where = "",
          .found = found_text(slot, value),
          .needed = std::move(needed),
          .hint = ""};
}

Refusal check_range(const Slot& slot, const TomlValue& value, double number) {
  const auto [least, most, above_least, below_most, zero_is_absent] =
      slot.key.range;
  std::string needed;
  if (!std::isfinite(number)) {
    needed = "must be a finite number";
  } else if (above_least ? number <= least : number < least) {
    const char* words = above_least ? "above" : "at least";
    needed = fmt::format("must be {} {:.0f}", words, least);
  } else if (below_most ? number >= most : number > most) {
    const char* words = below_most ? "below" : "at most";
    needed = fmt::format("must be {} {:.0f}", words, most);
  } else {
    return std::nullopt;
  }
  return out_of_range(slot, value, std::move(needed));
}

// True for a row of digits that is too long for a TOML integer and was
// therefore read as a text.
bool is_huge(const TomlValue& value) {
  const auto* text = std::get_if<std::string>(&value.data);
  return text != nullptr && text->size() > 18 &&
         text->find_first_not_of("0123456789") == std::string::npos;
}

Refusal read(const Slot& slot, const TomlValue& value, bool& out) {
  const bool* boolean = std::get_if<bool>(&value.data);
  if (boolean == nullptr) return wrong_type(slot, value, "true or false");
  out = *boolean;
  return std::nullopt;
}

Refusal read(const Slot& slot, const TomlValue& value, std::int64_t& out);

Refusal read(const Slot& slot, const TomlValue& value, Recompute& out) {
  if (const bool* boolean = std::get_if<bool>(&value.data)) {
    out = *boolean;
    return std::nullopt;
  }
  if (!std::holds_alternative<std::int64_t>(value.data)) {
    return wrong_type(slot, value, "true, false or a number of layers");
  }
  std::int64_t layers = 0;
  Refusal refusal = read(slot, value, layers);
  if (!refusal) out = Recompute::first(static_cast<int>(layers));
  return refusal;
}

Refusal read(const Slot& slot, const TomlValue& value, std::int64_t& out) {
  const std::int64_t* integer = std::get_if<std::int64_t>(&value.data);
  if (integer == nullptr && is_huge(value)) {
    return out_of_range(slot, value, "is too large for an integer");
  }
  if (integer == nullptr) return wrong_type(slot, value, "an integer");
  Refusal refusal = check_range(slot, value, static_cast<double>(*integer));
  if (!refusal) out = *integer;
  return refusal;
}

Refusal read(const Slot& slot, const TomlValue& value, int& out) {
  constexpr int kMost = std::numeric_limits<int>::max();
  std::int64_t wide = out;
  if (Refusal refusal = read(slot, value, wide)) return refusal;
  if (!std::in_range<int>(wide)) {
    return out_of_range(slot, value, fmt::format("must be at most {}", kMost));
  }
  out = static_cast<int>(wide);
  return std::nullopt;
}

Refusal read(const Slot& slot, const TomlValue& value, double& out) {
  double number = 0;
  if (const auto* real = std::get_if<double>(&value.data)) {
    number = *real;
  } else if (const auto* integer = std::get_if<std::int64_t>(&value.data)) {
    number = static_cast<double>(*integer);
  } else {
    return wrong_type(slot, value, "a number");
  }
  Refusal refusal = check_range(slot, value, number);
  if (!refusal) out = number;
  return refusal;
}

// Why a name is refused that users may well expect to be legal; otherwise
// empty.
std::string reason_against(const std::string& text) {
  const bool is_half = text == "fp16" || text == "float16" || text == "half";
  return is_half ? "fp16 cannot hold small gradients without scaling the loss, "
                   "which Chimera does not do; bf16 has float32's range"
                 : "";
}

Refusal check_choice(const Slot& slot, const std::string& text, Names choices) {
  const std::vector<std::string> names(choices.begin(), choices.end());
  if (names.empty() ||
      std::find(names.begin(), names.end(), text) != names.end()) {
    return std::nullopt;
  }
  const std::string reason = reason_against(text);
  return Diagnostic{
      .code = "E009",
      .where = "",
      .found = found_text(slot, TomlValue{text}),
      .needed = "must be one of " + join(names, ", "),
      .hint = reason.empty() ? did_you_mean(text, names) : reason};
}

// Accepts any text without a null character, which would silently cut a path
// short.
Refusal read_text(const Slot& slot, const TomlValue& value, std::string& out) {
  const auto* text = std::get_if<std::string>(&value.data);
  if (text == nullptr) return wrong_type(slot, value, "a string");
  if (text->find('\0') != std::string::npos) {
    return Diagnostic{.code = "E011",
                      .where = "",
                      .found = found_text(slot, value),
                      .needed = "must not hold a null character",
                      .hint = ""};
  }
  out = *text;
  return std::nullopt;
}

Refusal read(const Slot& slot, const TomlValue& value, std::string& out) {
  std::string text;
  if (Refusal refusal = read_text(slot, value, text)) return refusal;
  // "" means "none", which only keys with the default "" accept.
  if (text != out) {
    if (Refusal refusal = check_choice(slot, text, slot.key.choices)) {
      return refusal;
    }
  }
  out = text;
  return std::nullopt;
}

template <NamedEnum E>
Refusal read(const Slot& slot, const TomlValue& value, E& out) {
  std::string text;
  if (Refusal refusal = read_text(slot, value, text)) return refusal;
  Refusal refusal = check_choice(slot, text, names_of(out));
  if (!refusal) out = *find_named<E>(text);
  return refusal;
}

template <class T>
Refusal read(const Slot& slot, const TomlValue& value, std::optional<T>& out) {
  T inner{};
  Refusal refusal = read(slot, value, inner);
  if (!refusal) out = inner;
  return refusal;
}

template <class T>
Refusal read_list(const Slot& slot, const TomlList& list, std::vector<T>& out) {
  std::vector<T> elements(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Slot element{slot.key, fmt::format("{}[{}]", slot.name, i)};
    if (Refusal refusal = read(element, list[i], elements[i])) return refusal;
  }
  out = std::move(elements);
  return std::nullopt;
}

Refusal read(const Slot& slot, const TomlValue& value, std::vector<int>& out) {
  const auto* list = std::get_if<TomlList>(&value.data);
  if (list == nullptr) return wrong_type(slot, value, "an array of integers");
  return read_list(slot, *list, out);
}

Diagnostic wrong_length(const Slot& slot, std::size_t length,
                        std::string_view needed) {
  return {.code = "E010",
          .where = "",
          .found = fmt::format("length of {} = {}", slot.name, length),
          .needed = fmt::format("must be {}", needed),
          .hint = ""};
}

// Accepts one text or a list of texts; "" is an empty list.
Refusal read(const Slot& slot, const TomlValue& value,
             std::vector<std::string>& out) {
  if (const auto* list = std::get_if<TomlList>(&value.data)) {
    return read_list(slot, *list, out);
  }
  std::string text;
  if (Refusal refusal = read(slot, value, text)) return refusal;
  out.clear();
  if (!text.empty()) out.push_back(std::move(text));
  return std::nullopt;
}

// Accepts one number or a list; for an emulated model, one per stage.
Refusal read(const Slot& slot, const TomlValue& value,
             std::vector<double>& out) {
  const auto* list = std::get_if<TomlList>(&value.data);
  if (list == nullptr) {
    double number = 0;
    Refusal refusal = read(slot, value, number);
    if (!refusal) out = {number};
    return refusal;
  }
  if (list->empty() && slot.key.use == KeyUse::kEmulated) {
    return wrong_length(slot, 0, "1, or the number of stages");
  }
  return read_list(slot, *list, out);
}

Refusal read(const Slot& slot, const TomlValue& value,
             std::array<double, 2>& out) {
  const auto* list = std::get_if<TomlList>(&value.data);
  if (list == nullptr) return wrong_type(slot, value, "an array of 2 numbers");
  if (list->size() != 2) return wrong_length(slot, list->size(), "2");
  std::vector<double> numbers;
  Refusal refusal = read_list(slot, *list, numbers);
  if (!refusal) out = {numbers[0], numbers[1]};
  return refusal;
}

}  // namespace

std::optional<Diagnostic> store(const ConfigKey& key, const TomlValue& value,
                                RunConfig& config) {
  const Slot slot{key, full_name(key)};
  return std::visit([&](auto* member) { return read(slot, value, *member); },
                    key.field(config));
}

}  // namespace chimera
