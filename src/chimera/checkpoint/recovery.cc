#include "chimera/checkpoint/recovery.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <thread>
#include <utility>

#include "chimera/base/files.h"
#include "chimera/checkpoint/catalog.h"

namespace chimera {
namespace {

namespace fs = std::filesystem;

// Writes doubles as bits: a norm may be infinite, and every rank must clip
// alike.
std::string to_text(const SurvivorReport& report) {
  return fmt::format("{} {:x} {:x}\n", report.steps,
                     std::bit_cast<std::uint64_t>(report.vote.squared_norm),
                     std::bit_cast<std::uint64_t>(report.vote.bad_at));
}

SurvivorReport from_text(const std::string& text) {
  int steps = 0;
  unsigned long norm = 0;
  unsigned long bad_at = 0;
  if (std::sscanf(text.c_str(), "%d %lx %lx", &steps, &norm, &bad_at) != 3) {
    throw IoError("what another rank has left cannot be read: " + text);
  }
  SurvivorReport report{.steps = steps};
  report.vote.squared_norm = std::bit_cast<double>(norm);
  report.vote.bad_at = std::bit_cast<double>(bad_at);
  return report;
}

constexpr const char* kLostToo = "lost too";

// Touches a rank's report file again and again during its lifetime, as the sign
// of life that the other ranks look for. Only a rank that writes does so: if
// waiting ranks did, survivors of a second loss would keep each other waiting
// for ever.
class SignOfLife {
 public:
  SignOfLife(const std::string& file, std::chrono::duration<double> patience)
      : thread_([file, period = patience / 8](const std::stop_token& stop) {
          std::mutex mutex;
          std::condition_variable_any stopped;
          std::unique_lock lock(mutex);
          while (!stopped.wait_for(lock, stop, period, [] { return false; }) &&
                 !stop.stop_requested()) {
            utimensat(AT_FDCWD, file.c_str(), nullptr, 0);
          }
        }) {}

 private:
  std::jthread thread_;
};

}  // namespace

std::vector<int> all_but(int rank, int ranks) {
  std::vector<int> others;
  for (int other = 0; other < ranks; ++other) {
    if (other != rank) others.push_back(other);
  }
  return others;
}

std::string Recovery::file_of(int rank) const {
  return fmt::format("{}/.recovery/rank-{:04}",
                     checkpoints_path(options_.run_dir), rank);
}

void Recovery::publish(const std::string& report) const {
  const std::string file = file_of(options_.rank);
  std::error_code error;
  fs::create_directories(fs::path(file).parent_path(), error);
  if (error) throw IoError("cannot write " + file + ": " + error.message());
  write_file(file, report);
}

void Recovery::withdraw() const { publish(kLostToo); }

// Compares file times only with each other, because this host's clock may
// differ from the file server's.
bool Recovery::wait_until(const std::function<bool()>& is_there) const {
  constexpr auto kPeriod = std::chrono::milliseconds(5);
  const auto newest_sign = [this] {
    auto newest = fs::file_time_type::min();
    for (const int rank : options_.survivors) {
      std::error_code none_yet;
      newest = std::max(newest, fs::last_write_time(file_of(rank), none_yet));
    }
    return newest;
  };
  fs::file_time_type last_sign = newest_sign();
  Clock::time_point since = Clock::now();
  while (!is_there()) {
    const fs::file_time_type sign = newest_sign();
    if (sign != std::exchange(last_sign, sign)) since = Clock::now();
    if (Clock::now() - since > options_.patience) return false;
    std::this_thread::sleep_for(kPeriod);
  }
  return true;
}

SurvivorReport Recovery::wait_for_report(int rank) const {
  std::error_code error;
  const bool has_come =
      wait_until([&] { return fs::exists(file_of(rank), error); });
  if (!has_come) throw IoError(fmt::format("rank {} said nothing", rank));
  const Result<std::string> text = read_file(file_of(rank));
  if (!text) throw IoError(to_string(text.errors().front()));
  if (*text == kLostToo) {
    throw IoError(fmt::format("rank {} has failed too", rank));
  }
  return from_text(*text);
}

SurvivorReport Recovery::agree(const SurvivorReport& mine) const {
  publish(to_text(mine));
  SurvivorReport best = mine;
  for (const int rank : options_.survivors) {
    const SurvivorReport theirs = wait_for_report(rank);
    if (theirs.steps > best.steps) best = theirs;
  }
  return best;
}

int Recovery::wait_for_survivors() const {
  int steps = 0;
  for (const int rank : options_.survivors) {
    steps = std::max(steps, wait_for_report(rank).steps);
  }
  const std::string path = checkpoint_path(options_.run_dir, steps);
  std::error_code error;
  const bool is_saved = wait_until([&] { return fs::exists(path, error); });
  if (!is_saved) throw IoError("the other ranks have not saved " + path);
  return steps;
}

std::string Recovery::save(const Manifest& head,
                           const std::vector<StatePiece>& pieces) const {
  std::string path = checkpoint_path(options_.run_dir, head.step);
  // A save that was under way when the rank was lost may still be committed.
  const auto is_saved = [&] {
    std::error_code error;
    return fs::exists(path, error);
  };
  if (is_saved()) return path;
  const std::string folder =
      fmt::format("{}/.step-{:08}.recovering",
                  checkpoints_path(options_.run_dir), head.step);
  {
    const SignOfLife writing(file_of(options_.rank), options_.patience);
    write_part({.folder = folder, .rank = options_.rank, .head = head}, pieces);
  }
  // The first survivor commits once all parts are there. The others wait for
  // the finished checkpoint.
  const bool commits = options_.rank == options_.survivors.front();
  const auto are_all_written = [&] {
    return std::all_of(options_.survivors.begin(), options_.survivors.end(),
                       [&](int rank) { return has_part(folder, rank); });
  };
  const bool is_done =
      wait_until([&] { return is_saved() || (commits && are_all_written()); });
  if (!is_done) {
    throw IoError("the other ranks did not write their parts in time");
  }
  if (is_saved()) return path;
  const SignOfLife committing(file_of(options_.rank), options_.patience);
  try {
    return commit_parts({.run_dir = options_.run_dir,
                         .folder = folder,
                         .ranks = options_.survivors,
                         .keep = options_.keep})
        .path;
  } catch (const IoError&) {
    if (is_saved()) return path;
    throw;
  }
}

}  // namespace chimera
