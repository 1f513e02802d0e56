#include "chimera/cli/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>

#include "chimera/cli/exit_codes.h"

namespace chimera {

void write_result(const std::string& text, const std::string& path) {
  if (path.empty()) {
    std::cout << text << std::flush;
    if (!std::cout) throw WriteError("cannot write to standard output");
    return;
  }
  // A device or pipe is written in place: it cannot be replaced by a rename.
  const bool replaceable = access(path.c_str(), F_OK) != 0 ||
                           std::ifstream(path).seekg(0, std::ios::end).good();
  const bool device = path.rfind("/dev/", 0) == 0;
  const std::string target = replaceable && !device ? path + ".partial" : path;
  std::ofstream file(target, std::ios::binary | std::ios::trunc);
  file << text << std::flush;
  if (!file) {
    const std::string reason = std::strerror(errno);
    if (target != path) std::remove(target.c_str());
    throw WriteError("cannot write " + path + ": " + reason);
  }
  file.close();
  if (target != path && std::rename(target.c_str(), path.c_str()) != 0) {
    throw WriteError("cannot write " + path + ": " + std::strerror(errno));
  }
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

Result<std::string> read_file(const std::string& path) {
  const auto refuse = [&](const std::string& needed) {
    return Diagnostic{
        .code = "E405", .found = "file \"" + path + "\"", .needed = needed};
  };
  std::ifstream file(path, std::ios::binary);
  if (!file) return refuse(std::string("cannot be read: ") + strerror(errno));
  constexpr size_t kMost = size_t{1} << 30;
  constexpr size_t kBlock = size_t{1} << 16;
  std::string text;
  while (file && text.size() <= kMost) {
    const size_t have = text.size();
    text.resize(have + kBlock);
    file.read(text.data() + have, kBlock);
    text.resize(have + static_cast<size_t>(file.gcount()));
  }
  if (file.bad()) return refuse("cannot be read (is it a directory?)");
  if (text.size() > kMost) return refuse("is larger than 1 GiB");
  return text;
}

}  // namespace chimera
