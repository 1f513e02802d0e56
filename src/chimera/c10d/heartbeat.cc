#include "chimera/c10d/heartbeat.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace chimera {
namespace {

const char* const kAbortKey = "abort";

std::string key_of(int rank) { return "beat/" + std::to_string(rank); }

// Time by the system clock, which is sufficiently synchronised between the
// machines of a job.
double now_s() {
  return std::chrono::duration<double>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Heartbeat::Heartbeat(Options options)
    : options_(std::move(options)), heard_(options_.peers.size()) {
  options_.store = options_.store->clone();  // a separate connection
  beat();
  thread_ = std::thread([this] { run(); });
}

Heartbeat::~Heartbeat() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Heartbeat::beat() {
  const Heard own{progress.load(std::memory_order_relaxed), now_s()};
  std::vector<std::uint8_t> bytes(sizeof own);
  std::memcpy(bytes.data(), &own, sizeof own);
  options_.store->set(key_of(options_.rank), bytes);
}

Heartbeat::Heard Heartbeat::read(int rank) const {
  Heard heard;
  const std::string key = key_of(rank);
  if (!options_.store->check({key})) return heard;
  const std::vector<std::uint8_t> bytes = options_.store->get(key);
  if (bytes.size() == sizeof heard) {
    std::memcpy(&heard, bytes.data(), sizeof heard);
  }
  return heard;
}

Heartbeat::Beat Heartbeat::of(int rank) const {
  Heard heard;
  try {
    heard = read(rank);
  } catch (const std::exception&) {  // the store ended with its host
    const auto peer =
        std::find(options_.peers.begin(), options_.peers.end(), rank);
    const std::lock_guard lock(mutex_);
    if (peer != options_.peers.end()) {
      heard = heard_[peer - options_.peers.begin()];
    }
  }
  return {heard.progress, heard.at > 0 ? std::max(0.0, now_s() - heard.at) : 0};
}

void Heartbeat::announce_abort(const std::string& reason) noexcept {
  try {
    options_.store->compareSet(
        kAbortKey, {}, std::vector<std::uint8_t>(reason.begin(), reason.end()));
  } catch (const std::exception&) {  // other ranks will time out
  }
}

std::optional<std::string> Heartbeat::abort_reason() const {
  try {
    if (!options_.store->check({kAbortKey})) return std::nullopt;
    const std::vector<std::uint8_t> reason = options_.store->get(kAbortKey);
    return std::string(reason.begin(), reason.end());
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

// Sends and reads heartbeats, then pauses, until told to end or the store is
// lost.
void Heartbeat::run() {
  std::unique_lock lock(mutex_);
  while (!is_ending_) {
    lock.unlock();
    try {
      beat();
      if (const auto reason = abort_reason()) {
        return options_.on_abort(*reason);
      }
      for (std::size_t i = 0; i < options_.peers.size(); ++i) {
        const Heard heard = read(options_.peers[i]);
        const std::lock_guard relock(mutex_);
        heard_[i] = heard;
      }
    } catch (const std::exception&) {
      return;
    }
    lock.lock();
    changed_.wait_for(lock, kPause, [this] { return is_ending_; });
  }
}

}  // namespace chimera
