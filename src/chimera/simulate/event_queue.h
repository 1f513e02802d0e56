// Simulated time, and which worker wakes next. Two kinds of waiting are kept
// apart: waiting for a message takes real time, while compute takes processor
// time, which passes more slowly when more workers compute than there are
// cores.
#pragma once

#include <algorithm>
#include <cstdint>
#include <queue>
#include <vector>

namespace chimera {

class EventQueue {
 public:
  // `cores` processors are shared by `copies` times the workers that compute; 0
  // = a processor for each. `contention`: see SimulateOptions.
  EventQueue(int cores, int copies, double contention)
      : cores_(cores), copies_(copies), contention_(contention) {}

  // Wakes `worker` at `time`.
  void wake_at(double time, int worker) {
    timed_.push({time, next_++, worker});
  }

  // Wakes `worker` when it has computed for `work` units of processor time.
  void compute(double work, int worker) {
    if (cores_ == 0) {
      wake_at(now_ + work, worker);
    } else {
      computing_.push({processed_ + work, next_++, worker});
    }
  }

  [[nodiscard]] bool empty() const {
    return timed_.empty() && computing_.empty();
  }
  [[nodiscard]] double now() const { return now_; }

  // Advances time to the next wake-up and returns its worker. REQUIRES:
  // !empty().
  int pop() {
    const double compute_end = next_compute_end();
    if (timed_.empty() ||
        (!computing_.empty() && compute_end <= timed_.top().time)) {
      const Entry entry = computing_.top();
      computing_.pop();
      now_ = compute_end;
      processed_ = entry.time;
      return entry.worker;
    }
    const Entry entry = timed_.top();
    timed_.pop();
    if (!computing_.empty()) processed_ += (entry.time - now_) * rate();
    now_ = entry.time;
    return entry.worker;
  }

 private:
  struct Entry {
    double time;
    std::int64_t order;  // first come, first served at equal times
    int worker;

    bool operator>(const Entry& other) const {
      return time != other.time ? time > other.time : order > other.order;
    }
  };
  using Heap = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;

  [[nodiscard]] double rate() const {
    const double active = static_cast<double>(computing_.size()) * copies_;
    const double others = std::min(active, double(cores_)) - 1;
    const double shared = cores_ > 1 ? contention_ * others / (cores_ - 1) : 0;
    return std::min(1.0, cores_ / active) / (1 + shared);
  }
  [[nodiscard]] double next_compute_end() const {
    if (computing_.empty()) return 0;
    return now_ + (computing_.top().time - processed_) / rate();
  }

  int cores_;
  int copies_;
  double contention_;
  std::int64_t next_ = 0;
  double now_ = 0;
  double processed_ = 0;  // processor time of each computing worker so far
  Heap timed_;
  Heap computing_;  // keyed by processor time
};

}  // namespace chimera
