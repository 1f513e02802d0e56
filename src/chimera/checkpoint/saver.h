// Saves in the background of training, which waits only while its state is
// copied. One object per rank, used by that rank's thread. All ranks call these
// functions at the same steps:
//
//   prepare()  memory for the copy is made in the background
//   start()    the rank's share is copied, and its thread begins to write
//   part()     tells how far it is; the rank adds this to its next votes
//   settle()   once all parts are written: rank 0's thread commits
//   result()   on rank 0: whether the save succeeded
#pragma once

#include <cstddef>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "chimera/checkpoint/parts.h"

namespace chimera {

struct SaveResult {
  int step = 0;
  std::string path;     // empty if the save failed
  std::string error;    // then why
  std::string warning;  // why old checkpoints remain; may be empty
  double stall_s = 0;   // time that this rank's training waited
  double total_s = 0;
};

// A save between start() and settle().
struct OpenSave {
  int step = 0;
  std::string folder;
  double stall_s = 0;
  Clock::time_point started;
  // Why the part failed; empty if it was written.
  std::future<std::string> part;
};

class Saver {
 public:
  struct Options {
    std::string run_dir;
    int rank = 0;
    int ranks = 1;
    int keep = 1;
  };
  explicit Saver(Options options) : options_(std::move(options)) {}

  enum class Part { kIdle, kWriting, kWritten, kFailed };

  // Begins to allocate and touch memory for copies of `bytes`. The first write
  // to new memory is slow, so without this the first save would take many times
  // as long as later ones. A save that starts earlier uses the memory as it is.
  // REQUIRES: called before start().
  void prepare(std::size_t bytes);
  // REQUIRES: no save is open.
  void start(const Manifest& head, const std::vector<StatePiece>& pieces);
  // A save is open from start() until settle().
  [[nodiscard]] bool is_open() const { return open_.has_value(); }
  [[nodiscard]] Part part();
  // Waits until this rank's part is written or has failed.
  [[nodiscard]] Part wait_part();
  // Why this rank's part could not be written. REQUIRES: part() is kFailed.
  [[nodiscard]] std::string error() const { return error_; }

  void settle(bool all_written);
  // Returns each save's result once, on rank 0; nullopt if there is no new one.
  // With `wait` it waits for a commit in progress.
  [[nodiscard]] std::optional<SaveResult> result(bool wait);

 private:
  void make_memory(std::size_t bytes);
  void copy(const std::vector<StatePiece>& pieces);
  [[nodiscard]] SaveResult commit(const OpenSave& save) const;

  Options options_;
  std::string error_;
  Part part_ = Part::kIdle;
  // Kept from save to save, because its pages are already mapped.
  std::unique_ptr<std::byte[]> memory_;
  std::size_t capacity_ = 0;
  std::vector<StatePiece> copied_;
  // Declared last, so destroyed first: if a worker fails, their threads still
  // use the members above, and their destructors wait for them.
  std::jthread toucher_;
  std::future<SaveResult> commit_;
  std::optional<OpenSave> open_;
};

}  // namespace chimera
