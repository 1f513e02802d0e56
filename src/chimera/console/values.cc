#include "chimera/console/values.h"

#include <algorithm>
#include <filesystem>

#include "chimera/base/text.h"

namespace chimera {

std::optional<int> Values::integer(const std::string& flag,
                                   const std::string& text) {
  if (text.empty()) return std::nullopt;
  const std::optional<int> value = parse_int(text);
  if (!value) {
    const bool is_number =
        text.find_first_not_of("0123456789", text[0] == '-' ? 1 : 0) ==
        std::string::npos;
    refuse({.code = "E403",
            .found = flag + " \"" + shown(text) + "\"",
            .needed = is_number ? "is out of range: the most is 2147483647"
                                : "must be a whole number"});
  }
  return value;
}

bool Values::is_told_about(const std::string& flag) const {
  return std::any_of(errors_.begin(), errors_.end(), [&](const auto& error) {
    return error.found == flag || error.hint == "did you mean " + flag + "?";
  });
}

int Values::required_integer(const std::string& flag, const std::string& text) {
  if (text.empty() && !is_told_about(flag)) {
    refuse({.code = "E402",
            .found = flag,
            .needed = "is missing",
            .hint = "for example " + flag + " 4"});
  }
  // Returns 1 after a mistake, so that the rest can still be checked.
  return integer(flag, text).value_or(1);
}

std::optional<double> Values::time(const std::string& flag,
                                   const std::string& text) {
  if (text.empty()) return std::nullopt;
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = read_real(text.data(), end, value);
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
  const auto [stop, error] = read_real(text.data(), end, value);
  const std::string_view unit(stop, end - stop);
  const double factor = unit.empty()    ? 1
                        : unit == "GB"  ? 1e9
                        : unit == "GiB" ? 1024.0 * 1024 * 1024
                        : unit == "MB"  ? 1e6
                        : unit == "MiB" ? 1024.0 * 1024
                                        : 0;
  constexpr double kMost = 1e18;
  constexpr double kLeastWithoutUnit = 1e6;
  const double size = value * factor;
  const bool is_size = error == std::errc() && size > 0 && size <= kMost;
  const bool lacks_unit = unit.empty() && size < kLeastWithoutUnit;
  if (is_size && !lacks_unit) return size;
  refuse({.code = "E403",
          .found = flag + " \"" + shown(text) + "\"",
          .needed = is_size ? "is a number of bytes, and too few"
                            : "must be a size in GB, GiB, MB, MiB or bytes",
          .hint = is_size ? "did you mean " + flag + " " + text + "GB?"
                          : "for example " + flag + " 16GB"});
  return std::nullopt;
}

int Values::format(const std::string& text, const std::string& output,
                   const std::vector<std::string>& names) {
  const std::string end = std::filesystem::path(output).extension().string();
  int absent = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if ("." + names[i] == end) absent = static_cast<int>(i);
  }
  if (text.empty() && (end == ".png" || end == ".pdf")) {
    refuse({.code = "E406",
            .found = "-o " + shown(output),
            .needed = "has the name of a format that chimera does not write",
            .hint = "use .svg, which converters and browsers read"});
  }
  return choice("--format", text, names, absent);
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
