#include "chimera/comm/link_clock.h"

#include <algorithm>
#include <utility>

namespace chimera {
namespace {

// Limits `value` to a year, so that it fits a Clock::duration.
Clock::duration seconds(double value) {
  constexpr double kMost = 3e7;
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::min(value, kMost)));
}

}  // namespace

LinkClock::LinkClock(LinkTimesPtr times, int ranks)
    : times_(std::move(times)), ranks_(ranks) {
  if (times_) free_at_.resize(static_cast<std::size_t>(ranks) * ranks);
}

Span LinkClock::message(int from, int to, std::size_t bytes) {
  Clock::time_point start = Clock::now();
  if (!times_) return {start, start};
  const LinkTimes::Message time = times_->message(from, to, bytes);
  const Clock::duration occupied = seconds(time.occupied);
  if (occupied.count() > 0) {
    const std::lock_guard lock(mutex_);
    Clock::time_point& free = free_at(from, to);
    start = std::max(start, free);
    free = start + occupied;
  }
  return {start, start + occupied + seconds(time.latency)};
}

Span LinkClock::all_reduce(std::span<const int> members, std::size_t bytes) {
  Clock::time_point start = Clock::now();
  if (!times_) return {start, start};
  const Clock::duration time = seconds(times_->all_reduce(members, bytes));
  const auto each_link = [&](const auto& use) {
    for (const int from : members) {
      for (const int to : members) {
        if (from != to) use(free_at(from, to));
      }
    }
  };
  const std::lock_guard lock(mutex_);
  each_link([&](Clock::time_point& free) { start = std::max(start, free); });
  each_link([&](Clock::time_point& free) { free = start + time; });
  return {start, start + time};
}

Span LinkClock::vote() const {
  const Clock::time_point now = Clock::now();
  return {now, now + seconds(times_ ? times_->vote() : 0)};
}

}  // namespace chimera
