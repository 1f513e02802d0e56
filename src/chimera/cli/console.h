// What the cli room writes: results to stdout or a file, messages to stderr.
#pragma once

#include <string>

#include "chimera/base/result.h"

namespace chimera {

// The result could not be written (disk full, directory missing).
class WriteError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// To `path`, or to stdout where it is empty or "-". A file appears whole or not
// at all; links are followed and modes kept. Throws WriteError.
void write_result(const std::string& text, const std::string& path);

// All of them, one a line; returns the exit code for the user's mistakes.
int print_errors(const Diagnostics& errors);

// Whether stdout is a terminal that wants colour (NO_COLOR is respected).
[[nodiscard]] bool stdout_has_colour();

// Columns of the terminal on stdout; 0 if it is none.
[[nodiscard]] int stdout_columns();

// The whole file, at most 1 GiB of it.
[[nodiscard]] Result<std::string> read_file(const std::string& path);

}  // namespace chimera
