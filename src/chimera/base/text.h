// Small text helpers that more than one module needs.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chimera {

// Joins the parts with `separator` between them: "a, b, c".
[[nodiscard]] std::string join(const std::vector<std::string>& parts,
                               std::string_view separator);

// Splits a text at its separators; "" gives one empty part.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text,
                                                  char separator);

// `text` without blanks, tabs and carriage returns at both ends.
[[nodiscard]] std::string_view trim(std::string_view text);

// The whole of `text` as a decimal int; nullopt if it is anything else or does
// not fit.
[[nodiscard]] std::optional<int> parse_int(std::string_view text);

// The number that [first, last) begins with, read as std::from_chars does.
// Works with standard libraries whose own from_chars reads whole numbers only.
std::from_chars_result read_real(const char* first, const char* last,
                                 double& value);

// `value` in at most twelve digits, without trailing zeros: 36, 27.5, 1e+20.
[[nodiscard]] std::string number(double value);

// Quotes `text` with double quotes and escapes control characters, so that it
// is valid in JSON and in TOML.
[[nodiscard]] std::string json_string(std::string_view text);

// Appends a code point as UTF-8. REQUIRES: `code` is at most 0x10FFFF.
void append_utf8(char32_t code, std::string& out);

// The candidate with the fewest edits from `name` if they are few enough for a
// typing mistake; empty otherwise.
[[nodiscard]] std::string nearest_name(
    std::string_view name, const std::vector<std::string>& candidates);

// Untrusted text made safe for an error message: unprintable bytes replaced,
// cut to the length of a line.
[[nodiscard]] std::string shown(std::string_view text);

}  // namespace chimera
