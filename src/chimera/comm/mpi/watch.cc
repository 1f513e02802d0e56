#include "chimera/comm/mpi/watch.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace chimera {
namespace {

constexpr int kPeerLost = 5;  // the contract's exit code

constexpr auto kPeriod = std::chrono::milliseconds(50);
// Time for a reason to reach the other ranks, and for theirs to come.
constexpr auto kFarewell = std::chrono::milliseconds(300);
// mpirun kills a second after its SIGTERM: that is how long it may take to see
// who has fallen silent. Several heartbeats long.
constexpr Clock::duration kHurriedSilence = std::chrono::milliseconds(700);

// -1 where the kernel has none (before Linux 5.3): then silence alone counts.
int open_pidfd(int pid) {
  return pid == 0 ? -1 : static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
}

bool has_exited(int pidfd) {
  if (pidfd < 0) return false;
  pollfd query{.fd = pidfd, .events = POLLIN, .revents = 0};
  return poll(&query, 1, 0) > 0;
}

}  // namespace

Watch::Watch(Options options) : options_(std::move(options)) {
  for (const Peer& peer : options_.peers) {
    pidfds_.push_back(open_pidfd(peer.pid));
  }
  thread_ = std::thread([this] { run(); });
}

Watch::~Watch() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
  for (const int pidfd : pidfds_) {
    if (pidfd >= 0) close(pidfd);
  }
}

void Watch::give_up(const Ending& ending) {
  const std::lock_guard lock(mutex_);
  if (!ending_) {
    end_at_ = Clock::now() + kFarewell;
  } else if (ending_->exit_code <= ending.exit_code) {
    return;
  }
  ending_ = ending;
}

std::optional<Ending> Watch::ending() const {
  const std::lock_guard lock(mutex_);
  return ending_;
}

void Watch::hurry() {
  const std::lock_guard lock(mutex_);
  is_hurried_ = true;
}

void Watch::relax() {
  const std::lock_guard lock(mutex_);
  is_relaxed_ = true;
}

void Watch::run() {
  std::unique_lock lock(mutex_);
  while (!is_ending_) {
    if (ending_ && Clock::now() >= end_at_) {
      const Ending ending = *ending_;
      lock.unlock();
      options_.end(ending);
      return;
    }
    if (!ending_ && !is_relaxed_) {
      lock.unlock();
      look();
      lock.lock();
    }
    changed_.wait_for(lock, kPeriod, [this] { return is_ending_; });
  }
}

// A death is certain; of several that are silent the longest silent one was
// probably the first.
void Watch::look() {
  int most_silent = -1;
  Clock::duration longest{};
  for (std::size_t i = 0; i < options_.peers.size(); ++i) {
    const int rank = options_.peers[i].rank;
    const Clock::duration silence = options_.silence_of(rank);
    if (silence <= Clock::duration::zero()) continue;  // it has left
    if (has_exited(pidfds_[i])) return give_up(lost(rank));
    if (silence > longest) {
      longest = silence;
      most_silent = rank;
    }
  }
  Clock::duration limit = options_.silence;
  {
    const std::lock_guard lock(mutex_);
    if (is_hurried_) limit = std::min(limit, kHurriedSilence);
  }
  if (longest > limit) give_up(lost(most_silent));
}

Ending Watch::lost(int rank) const {
  const auto silence = std::chrono::duration<double>(options_.silence_of(rank));
  return {.exit_code = kPeerLost,
          .origin = options_.rank,
          .lost = rank,
          .silent_s = silence.count()};
}

}  // namespace chimera
