// What commands write: results to stdout or a file, messages to stderr.
#pragma once

#include <string>

#include "chimera/base/result.h"

namespace chimera {

// To `path`, or to stdout where it is empty or "-". A file appears whole or not
// at all; links are followed and modes kept. Throws IoError.
void write_result(const std::string& text, const std::string& path);

// The file `path`, or standard input where it is "-".
[[nodiscard]] Result<std::string> read_input(const std::string& path);
// How messages call it.
[[nodiscard]] std::string input_name(const std::string& path);

// All of them, one a line; returns the exit code for the user's mistakes.
int print_errors(const Diagnostics& errors);

// Whether stdout is a terminal that wants colour (NO_COLOR is respected).
[[nodiscard]] bool stdout_has_colour();

// Columns of the terminal on stdout; 0 if it is none.
[[nodiscard]] int stdout_columns();

// "1:02:03", or "2:03" below an hour.
[[nodiscard]] std::string time_text(double seconds);

}  // namespace chimera
