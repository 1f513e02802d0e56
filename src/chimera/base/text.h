// Small text helpers that more than one module needs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chimera {

// "a, b, c".
[[nodiscard]] std::string join(const std::vector<std::string>& parts,
                               std::string_view separator);

// The parts between separators; "" gives one empty part.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text,
                                                  char separator);

// Without blanks, tabs and carriage returns at both ends.
[[nodiscard]] std::string_view trim(std::string_view text);

// The whole of `text` as a decimal int; nullopt if it is anything else or does
// not fit.
[[nodiscard]] std::optional<int> parse_int(std::string_view text);

// At most twelve digits, no trailing zeros: 36, 27.5, 1e+20.
[[nodiscard]] std::string number(double value);

// A double-quoted string, control characters escaped: as JSON writes it, and
// TOML too.
[[nodiscard]] std::string json_string(std::string_view text);

// Appends a code point as UTF-8. REQUIRES: at most 0x10FFFF.
void append_utf8(char32_t code, std::string& out);

// The candidate with the fewest edits from `name`, if it is near enough that a
// typing mistake is likely; empty otherwise.
[[nodiscard]] std::string nearest_name(
    std::string_view name, const std::vector<std::string>& candidates);

// Untrusted text made fit for an error message: unprintable bytes replaced,
// cut to a line's length.
[[nodiscard]] std::string shown(std::string_view text);

}  // namespace chimera
