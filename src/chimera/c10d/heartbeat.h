// What ranks know of each other beside their messages, through the store of
// the rendezvous: how far each has come, when it was last heard, and whether
// one of them has given up.
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
    c10::intrusive_ptr<c10d::Store> store;  // of this transport alone
    int rank = 0;
    std::vector<int> peers;  // whose beats are kept, should the store be lost
    // A rank has given up. On a thread of its own.
    std::function<void(const std::string& reason)> on_abort;
  };
  // Has beaten once when it returns.
  explicit Heartbeat(Options options);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  std::atomic<std::uint64_t> progress = 0;  // of this rank

  struct Beat {
    std::uint64_t progress = 0;
    double silence_s = 0;  // since then
  };
  // The newest that is known of a rank.
  [[nodiscard]] Beat of(int rank) const;

  // Why a rank has given up; nothing if none has, or nobody can tell.
  [[nodiscard]] std::optional<std::string> abort_reason() const;
  // Tells every rank; only the first reason counts.
  void announce_abort(const std::string& reason) noexcept;

 private:
  struct Heard {
    std::uint64_t progress = 0;
    double at = 0;  // seconds of the system's clock
  };
  void run();
  void beat();
  [[nodiscard]] Heard read(int rank) const;

  Options options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Heard> heard_;  // by peer, of peers; guarded by mutex_
  bool is_ending_ = false;    // guarded by mutex_
  std::thread thread_;
};

}  // namespace chimera
