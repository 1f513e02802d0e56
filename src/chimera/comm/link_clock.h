// Arrival times on links slower than this machine's, for emulated runs, by the
// simulator's rules: bytes occupy their directed link one message after the
// other, latency does not; a collective occupies all links between its members.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "chimera/comm/transport.h"

namespace chimera {

// The times that messages, sums and votes take on links, in seconds.
// exec/emulated_links.h makes one.
class LinkTimes {
 public:
  struct Message {
    double occupied = 0;  // time for which the link is busy
    double latency = 0;
  };

  virtual ~LinkTimes() = default;

  [[nodiscard]] virtual Message message(int from, int to,
                                        std::size_t bytes) const = 0;
  // REQUIRES: `members` ascend.
  [[nodiscard]] virtual double all_reduce(std::span<const int> members,
                                          std::size_t bytes) const = 0;
  [[nodiscard]] virtual double vote() const = 0;
};

using LinkTimesPtr = std::shared_ptr<const LinkTimes>;  // null: no time at all

// Thread-safe.
class LinkClock {
 public:
  LinkClock(LinkTimesPtr times, int ranks);

  [[nodiscard]] Span message(int from, int to, std::size_t bytes);
  [[nodiscard]] Span all_reduce(std::span<const int> members,
                                std::size_t bytes);
  [[nodiscard]] Span vote() const;

 private:
  [[nodiscard]] Clock::time_point& free_at(int from, int to) {
    return free_at_[static_cast<std::size_t>(from) * ranks_ + to];
  }

  LinkTimesPtr times_;
  int ranks_;
  std::mutex mutex_;
  std::vector<Clock::time_point> free_at_;  // [from, to]; guarded by mutex_
};

}  // namespace chimera
