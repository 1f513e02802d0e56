// Arrival times on links slower than shared memory, for emulated runs, by the
// simulator's rules: bytes occupy their directed link one message after the
// other, latency does not; a collective occupies all links between its members.
#pragma once

#include <mutex>
#include <span>
#include <vector>

#include "chimera/comm/transport.h"

namespace chimera {

struct LinkSpeed {
  double latency_s = 0;
  double s_per_byte = 0;  // 0 = unlimited

  [[nodiscard]] bool is_free() const {
    return latency_s <= 0 && s_per_byte <= 0;
  }
};

// Thread-safe.
class LinkClock {
 public:
  LinkClock(const LinkSpeed& speed, int ranks);

  [[nodiscard]] Span message(int from, int to, std::size_t bytes);
  // Rabenseifner's time: 2 log2(r) latency + 2 (r-1)/r bytes.
  [[nodiscard]] Span all_reduce(std::span<const int> members,
                                std::size_t bytes);
  // Votes are small, so only latency counts.
  [[nodiscard]] Span vote() const;

 private:
  [[nodiscard]] Clock::time_point& free_at(int from, int to) {
    return free_at_[static_cast<std::size_t>(from) * ranks_ + to];
  }

  LinkSpeed speed_;
  int ranks_;
  std::mutex mutex_;
  std::vector<Clock::time_point> free_at_;  // [from, to]; guarded by mutex_
};

}  // namespace chimera
