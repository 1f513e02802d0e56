// Enums whose enumerators have names that users type and read. An enumerator's
// value is its place in the list of names, so one list serves reading,
// printing, messages and completion. To give an enum names, declare
//   constexpr Names names_of(E) { return kList; }
// beside it.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace chimera {

using Names = std::span<const std::string_view>;

template <class E>
concept NamedEnum = requires(E value) {
  { names_of(value) } -> std::same_as<Names>;
};

// "vee" for Shape::kVee.
template <NamedEnum E>
[[nodiscard]] constexpr std::string_view name_of(E value) {
  return names_of(value)[static_cast<std::size_t>(value)];
}

// Finds the enumerator of a name, Shape::kVee for "vee"; nullopt if the name is
// not in the list.
template <NamedEnum E>
[[nodiscard]] constexpr std::optional<E> find_named(std::string_view name) {
  const Names names = names_of(E{});
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<E>(found - names.begin());
}

}  // namespace chimera
