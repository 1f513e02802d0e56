#include "chimera/console/console.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <iterator>

#include "chimera/base/exit_codes.h"
#include "chimera/base/files.h"

namespace chimera {
void write_result(const std::string& text, const std::string& path) {
  if (!path.empty() && path != "-") {
    write_file(path, text);
    return;
  }
  std::cout << text << std::flush;
  if (!std::cout) throw IoError("cannot write to standard output");
}

Result<std::string> read_input(const std::string& path) {
  if (path != "-") return read_file(path);
  return std::string(std::istreambuf_iterator<char>(std::cin), {});
}

std::string input_name(const std::string& path) {
  return path == "-" ? "standard input" : path;
}

int print_errors(const Diagnostics& errors) {
  for (const Diagnostic& error : errors) {
    std::cerr << to_string(error) << '\n';
  }
  return kExitUsage;
}

bool stdout_has_colour() {
  return isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
}

int stdout_columns() {
  winsize size{};
  if (isatty(STDOUT_FILENO) == 0) return 0;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 80;
  return size.ws_col;
}

std::string time_text(double seconds) {
  const long whole = std::lround(seconds);
  if (whole >= 3600) {
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60,
                       whole % 60);
  }
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace chimera
