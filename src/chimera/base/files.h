// Whole files in and out. What cannot be read is the user's mistake, a value;
// what cannot be written is the world's failure, an exception.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "chimera/base/result.h"

namespace chimera {

// Disk full, directory gone, no permission. Exit code 8.
class IoError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A file that is written piece by piece and appears whole or not at all: it
// has a temporary name beside `path` until finish(), and is removed if that is
// never reached. Links are followed and modes kept; devices and pipes are
// written in place. Every function throws IoError.
class WholeFile {
 public:
  explicit WholeFile(std::string path);
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;
  ~WholeFile();

  void write(std::string_view bytes);
  // What was written so far outlives a crash of the machine.
  void sync();
  // At most once, after the last piece.
  void finish();

 private:
  void create(unsigned mode);
  void keep_mode(unsigned mode);

  std::string path_;
  std::string target_;     // what `path` means, behind any symbolic links
  std::string temporary_;  // empty: written in place, or finished
  int descriptor_ = -1;
};

// A file that grows by whole pieces: one that does not fit leaves no trace, and
// the next may. Every function throws IoError.
class AppendFile {
 public:
  explicit AppendFile(std::string path);
  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&& other) = delete;
  ~AppendFile();

  void append(std::string_view bytes);

 private:
  std::string path_;
  int descriptor_ = -1;
};

// A WholeFile of one piece.
void write_file(const std::string& path, std::string_view text);
// The same, and its bytes outlive a crash of the machine once its directory is
// synced.
void write_durably(const std::string& path, std::string_view text);

// Names made, renamed or removed in a directory outlive a crash of the machine.
// Throws IoError.
void sync_directory(const std::string& path);

// The whole file, at most 1 GiB of it.
[[nodiscard]] Result<std::string> read_file(const std::string& path);

}  // namespace chimera
