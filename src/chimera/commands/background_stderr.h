// std::cerr that never waits for its reader. While a BackgroundStderr lives, a
// thread of its own writes what was said, so a pager or a Ctrl-S that stops
// reading does not hold up training. What piles up beyond a limit is dropped,
// and a line says so.
#pragma once

#include <chrono>
#include <iosfwd>
#include <memory>

namespace chimera {

class BackgroundStderr {
 public:
  BackgroundStderr();
  // Gives std::cerr back, once all is written or some seconds have passed.
  ~BackgroundStderr();
  BackgroundStderr(const BackgroundStderr&) = delete;
  BackgroundStderr& operator=(const BackgroundStderr&) = delete;

 private:
  std::unique_ptr<std::streambuf> buffer_;
  std::streambuf* before_;
};

// Waits until everything said on std::cerr is written, at most so long: for a
// process that leaves without destructors.
void flush_stderr(std::chrono::milliseconds most);

}  // namespace chimera
