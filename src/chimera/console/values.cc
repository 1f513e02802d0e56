#include "chimera/console/values.h"

#include <charconv>

#include "chimera/base/text.h"

namespace chimera {

std::optional<int> Values::integer(const std::string& flag,
                                   const std::string& text) {
  if (text.empty()) return std::nullopt;
  const std::optional<int> value = parse_int(text);
  if (!value) {
    refuse({.code = "E403",
            .found = flag + " \"" + shown(text) + "\"",
            .needed = "must be a whole number"});
  }
  return value;
}

int Values::required_integer(const std::string& flag, const std::string& text) {
  if (text.empty()) {
    refuse({.code = "E402",
            .found = flag,
            .needed = "is missing",
            .hint = "for example " + flag + " 4"});
  }
  // A stand-in, so that the rest can still be checked: 1 is legal everywhere.
  return integer(flag, text).value_or(1);
}

std::optional<double> Values::time(const std::string& flag,
                                   const std::string& text) {
  if (text.empty()) return std::nullopt;
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  constexpr double kMost = 1e12;
  if (error == std::errc() && stop == end && value >= 0 && value <= kMost) {
    return value;
  }
  refuse({.code = "E403",
          .found = flag + " \"" + shown(text) + "\"",
          .needed = "must be a number from 0 to 1e12"});
  return std::nullopt;
}

std::optional<double> Values::bytes(const std::string& flag,
                                    const std::string& text) {
  if (text.empty()) return std::nullopt;
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  const std::string_view unit(stop, end - stop);
  const double factor = unit.empty()    ? 1
                        : unit == "GB"  ? 1e9
                        : unit == "GiB" ? 1024.0 * 1024 * 1024
                        : unit == "MB"  ? 1e6
                        : unit == "MiB" ? 1024.0 * 1024
                                        : 0;
  constexpr double kMost = 1e18;
  const double size = value * factor;
  if (error == std::errc() && size > 0 && size <= kMost) return size;
  refuse({.code = "E403",
          .found = flag + " \"" + shown(text) + "\"",
          .needed = "must be a size in GB, GiB, MB, MiB or bytes",
          .hint = "for example " + flag + " 16GB"});
  return std::nullopt;
}

int Values::choice(const std::string& flag, const std::string& text,
                   const std::vector<std::string>& names, int absent) {
  if (text.empty()) return absent;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return static_cast<int>(i);
  }
  const std::string near = nearest_name(text, names);
  refuse({.code = "E404",
          .found = flag + " \"" + shown(text) + "\"",
          .needed = "must be one of " + join(names, ", "),
          .hint = near.empty() ? "" : "did you mean \"" + near + "\"?"});
  return absent;
}

}  // namespace chimera
