// Heartbeats through the rendezvous store: how far each rank has progressed,
// when it was last heard, and whether one of them has aborted.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

namespace chimera {

class Heartbeat {
 public:
  static constexpr std::chrono::milliseconds kPause{250};  // between beats

  struct Options {
    c10::intrusive_ptr<c10d::Store> store;  // a store that nothing else uses
    int rank = 0;
    // Ranks whose last heartbeats are remembered if the store is lost.
    std::vector<int> peers;
    // Called on the heartbeat thread when another rank has aborted.
    std::function<void(const std::string& reason)> on_abort;
  };
  // Starts the thread. ENSURES: the first heartbeat of this rank has been sent.
  explicit Heartbeat(Options options);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  std::atomic<std::uint64_t> progress = 0;  // of this rank

  struct Beat {
    std::uint64_t progress = 0;
    double silence_s = 0;  // seconds since the rank's last heartbeat
  };
  // The newest known heartbeat of a rank.
  [[nodiscard]] Beat of(int rank) const;

  // The reason of the first rank that aborted; nullopt if none has or the store
  // is lost.
  [[nodiscard]] std::optional<std::string> abort_reason() const;
  // Tells every rank that this one aborts; only the first reason is kept.
  void announce_abort(const std::string& reason) noexcept;

 private:
  struct Heard {
    std::uint64_t progress = 0;
    double at = 0;  // system clock, in seconds
  };
  void run();
  void beat();
  [[nodiscard]] Heard read(int rank) const;

  Options options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Heard> heard_;  // [peer]; guarded by mutex_
  bool is_ending_ = false;    // guarded by mutex_
  std::thread thread_;
};

}  // namespace chimera
