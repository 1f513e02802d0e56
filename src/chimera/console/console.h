// Output of commands: results go to stdout or a file, messages to stderr.
#pragma once

#include <string>

#include "chimera/base/result.h"

namespace chimera {

// Writes to `path`, or to stdout if it is empty or "-". ENSURES: a file appears
// whole or not at all; links are followed and modes kept. Throws IoError.
void write_result(const std::string& text, const std::string& path);

// Reads the file `path`, or standard input if it is "-".
[[nodiscard]] Result<std::string> read_input(const std::string& path);
// The name of the input `path` in messages: the path, or "standard input".
[[nodiscard]] std::string input_name(const std::string& path);

// Prints all errors, one per line. Returns the exit code for a user's mistakes.
int print_errors(const Diagnostics& errors);

// Whether stdout is a terminal that wants colour (NO_COLOR is respected).
[[nodiscard]] bool stdout_has_colour();

// Columns of the terminal on stdout; 0 if it is not a terminal.
[[nodiscard]] int stdout_columns();

// Examples: "1:02:03", or "2:03" below an hour.
[[nodiscard]] std::string time_text(double seconds);

}  // namespace chimera
