// Reading and writing whole files. A file that cannot be read is the user's
// mistake and is returned as a value; one that cannot be written is a failure
// of the machine and throws.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "chimera/base/result.h"

namespace chimera {

// The disk is full, the directory is gone or permission is missing. Exit code
// 8.
class IoError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A file that is written piece by piece and appears whole or not at all: it has
// a temporary name beside `path` until finish(), and is removed if finish() is
// never reached. Symbolic links are followed and modes kept; devices and pipes
// are written in place. Every function throws IoError.
class WholeFile {
 public:
  explicit WholeFile(std::string path);
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;
  ~WholeFile();

  void write(std::string_view bytes);
  // Flushes to disk: everything written so far survives a crash of the machine.
  void sync();
  // Gives the file its name. REQUIRES: called at most once, after the last
  // piece.
  void finish();

 private:
  void create(unsigned mode);
  void keep_mode(unsigned mode);

  std::string path_;
  std::string target_;     // `path` once symbolic links are followed
  std::string temporary_;  // empty if writing in place, or finished
  int descriptor_ = -1;
};

// A file that grows by whole pieces: a piece that does not fit is taken back,
// and the next one may still fit. Every function throws IoError.
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

// Writes `text` through a WholeFile.
void write_file(const std::string& path, std::string_view text);
// Writes `text` through a WholeFile and flushes it: once the directory is
// synced too (sync_directory), the file survives a crash of the machine.
void write_durably(const std::string& path, std::string_view text);

// Flushes a directory, so that names made, renamed or removed in it survive a
// crash of the machine. Throws IoError.
void sync_directory(const std::string& path);

// The contents of a file of at most 1 GiB.
[[nodiscard]] Result<std::string> read_file(const std::string& path);

}  // namespace chimera
