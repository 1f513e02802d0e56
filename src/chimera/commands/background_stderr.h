// A std::cerr that never waits for its reader. While a BackgroundStderr exists,
// a separate thread writes the output, so that a pager or a Ctrl-S that stops
// reading does not hold up training. Output beyond a limit is dropped, and a
// line says so.
#pragma once

#include <chrono>
#include <iosfwd>
#include <memory>

namespace chimera {

class BackgroundStderr {
 public:
  BackgroundStderr();
  // Restores std::cerr once everything is written or a few seconds have passed.
  ~BackgroundStderr();
  BackgroundStderr(const BackgroundStderr&) = delete;
  BackgroundStderr& operator=(const BackgroundStderr&) = delete;

 private:
  std::unique_ptr<std::streambuf> buffer_;
  std::streambuf* before_;
};

// Waits until everything sent to std::cerr is written, but no longer than
// `most`. For a process that exits without running destructors.
void flush_stderr(std::chrono::milliseconds most);

}  // namespace chimera
