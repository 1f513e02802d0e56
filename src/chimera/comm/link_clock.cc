#include "chimera/comm/link_clock.h"

#include <algorithm>
#include <cmath>

namespace chimera {
namespace {

// Limits `value` to a year, so that it fits a Clock::duration.
Clock::duration seconds(double value) {
  constexpr double kMost = 3e7;
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::min(value, kMost)));
}

}  // namespace

LinkClock::LinkClock(const LinkSpeed& speed, int ranks)
    : speed_(speed), ranks_(ranks) {
  if (speed_.s_per_byte > 0) {
    free_at_.resize(static_cast<std::size_t>(ranks) * ranks);
  }
}

Span LinkClock::message(int from, int to, std::size_t bytes) {
  Clock::time_point start = Clock::now();
  const Clock::duration occupied =
      seconds(static_cast<double>(bytes) * speed_.s_per_byte);
  if (occupied.count() > 0) {
    const std::lock_guard lock(mutex_);
    Clock::time_point& free = free_at(from, to);
    start = std::max(start, free);
    free = start + occupied;
  }
  return {start, start + occupied + seconds(speed_.latency_s)};
}

Span LinkClock::all_reduce(std::span<const int> members, std::size_t bytes) {
  const auto ranks = static_cast<double>(members.size());
  const Clock::duration time = seconds(
      2 * std::log2(ranks) * speed_.latency_s +
      2 * (ranks - 1) / ranks * speed_.s_per_byte * static_cast<double>(bytes));
  Clock::time_point start = Clock::now();
  if (free_at_.empty()) return {start, start + time};
  const std::lock_guard lock(mutex_);
  for (const int from : members) {
    for (const int to : members) start = std::max(start, free_at(from, to));
  }
  for (const int from : members) {
    for (const int to : members) free_at(from, to) = start + time;
  }
  return {start, start + time};
}

Span LinkClock::vote() const {
  const double hops = 2 * std::ceil(std::log2(static_cast<double>(ranks_)));
  const Clock::time_point now = Clock::now();
  return {now, now + seconds(hops * speed_.latency_s)};
}

}  // namespace chimera
