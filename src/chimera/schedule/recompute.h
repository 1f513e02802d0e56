// How much of a stage's forward runs again before its backward.
#pragma once

#include <concepts>
#include <limits>
#include <string>

namespace chimera {

// The layers of each stage, counted from its first, that are recomputed: none
// (false), all (true), or a number of them. The others keep what their
// backwards need. A stage with fewer layers recomputes all of them.
class Recompute {
 public:
  constexpr Recompute() = default;
  // A template, so that no number becomes true.
  template <std::same_as<bool> Flag>
  constexpr Recompute(Flag all)  // NOLINT(google-explicit-constructor)
      : layers_(all ? kAll : 0) {}
  // REQUIRES: layers >= 0.
  [[nodiscard]] static constexpr Recompute first(int layers) {
    Recompute some;
    some.layers_ = layers;
    return some;
  }

  constexpr explicit operator bool() const { return layers_ > 0; }
  [[nodiscard]] constexpr bool is_all() const { return layers_ == kAll; }
  [[nodiscard]] constexpr int layers() const { return layers_; }

  bool operator==(const Recompute&) const = default;
  auto operator<=>(const Recompute&) const = default;

 private:
  static constexpr int kAll = std::numeric_limits<int>::max();
  int layers_ = 0;
};

// "false", "true" or a number, as in run.toml and JSON.
[[nodiscard]] inline std::string text_of(const Recompute& recompute) {
  if (!recompute) return "false";
  return recompute.is_all() ? "true" : std::to_string(recompute.layers());
}

}  // namespace chimera
