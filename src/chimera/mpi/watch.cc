#include "chimera/mpi/watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace chimera {
namespace {

constexpr int kPeerLost = 5;  // the contract's exit code

constexpr auto kPeriod = std::chrono::milliseconds(50);
// mpirun kills the others as soon as the first rank leaves, so all must have
// spoken before any does.
constexpr auto kLinger = std::chrono::milliseconds(500);
// Late by this much, and the process was stopped, or its host asleep.
constexpr auto kStopped = std::chrono::seconds(1);

}  // namespace

Watch::Watch(Options options)
    : options_(std::move(options)),
      wake_(eventfd(0, EFD_NONBLOCK)),
      silence_(options_.silence) {
  for (const Process& process : options_.processes) {
    const auto pidfd =
        static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0));
    // Gone already. (Before Linux 5.3 there is no pidfd: then silence counts.)
    if (pidfd < 0 && errno == ESRCH) give_up_dead(process.rank);
    pidfds_.push_back(pidfd);
  }
  thread_ = std::thread([this] { run(); });
}

Watch::~Watch() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  wake();
  thread_.join();
  for (const int pidfd : pidfds_) {
    if (pidfd >= 0) close(pidfd);
  }
  close(wake_);
}

void Watch::wake() const {
  const std::uint64_t one = 1;
  // Can only fail if it is awake already.
  if (write(wake_, &one, sizeof one) < 0) return;
}

void Watch::give_up(const Ending& ending) {
  {
    const std::lock_guard lock(mutex_);
    if (ending_ && ending_->exit_code <= ending.exit_code) return;
    ending_ = ending;
  }
  wake();
}

void Watch::give_up_dead(int rank) {
  Ending death = lost(rank);
  death.is_dead = true;
  give_up(death);
}

std::optional<Ending> Watch::ending() const {
  const std::lock_guard lock(mutex_);
  return ending_;
}

// The rest of the time is for telling the others.
void Watch::expect_kill(Clock::duration time_left) {
  const std::lock_guard lock(mutex_);
  silence_ = std::min(silence_, time_left * 7 / 10);
}

void Watch::relax() {
  const std::lock_guard lock(mutex_);
  is_relaxed_ = true;
}

void Watch::run() {
  std::optional<Clock::time_point> leave_at;
  Clock::time_point last_look = Clock::now();
  std::unique_lock lock(mutex_);
  while (!is_ending_) {
    const bool is_watching = !ending_ && !is_relaxed_;
    const std::optional<Ending> ending = ending_;
    lock.unlock();
    if (ending && !leave_at) {
      options_.speak(*ending);
      leave_at = Clock::now() + kLinger;
    }
    if (leave_at && Clock::now() >= *leave_at) {
      options_.leave(ending->exit_code);
      return;
    }
    const std::optional<int> dead = wait_for_death(is_watching);
    const Clock::time_point now = Clock::now();
    const bool was_stopped = now - std::exchange(last_look, now) > kStopped;
    if (was_stopped) {
      // What others have said meanwhile comes first.
      options_.forgive();
      std::this_thread::sleep_for(kPeriod);
    } else if (dead) {
      give_up_dead(*dead);
    } else if (is_watching) {
      look();
    }
    lock.lock();
  }
}

std::optional<int> Watch::wait_for_death(bool is_watching) const {
  std::vector<pollfd> queries{{.fd = wake_, .events = POLLIN, .revents = 0}};
  for (const int pidfd : pidfds_) {
    if (!is_watching) break;
    queries.push_back({.fd = pidfd, .events = POLLIN, .revents = 0});
  }
  const auto period =
      std::chrono::duration_cast<std::chrono::milliseconds>(kPeriod);
  if (poll(queries.data(), queries.size(), static_cast<int>(period.count())) <=
      0) {
    return std::nullopt;
  }
  std::uint64_t count = 0;
  if (queries[0].revents != 0 && read(wake_, &count, sizeof count) < 0) {
    return std::nullopt;
  }
  for (std::size_t i = 1; i < queries.size(); ++i) {
    if (queries[i].revents == 0) continue;
    return options_.processes[i - 1].rank;
  }
  return std::nullopt;
}

// Of several that are silent the longest silent one was probably the first.
void Watch::look() {
  Clock::duration limit;
  {
    const std::lock_guard lock(mutex_);
    limit = silence_;
  }
  const auto [peer, silence] = options_.own_longest_silence();
  if (silence > limit) give_up(lost(peer));
}

Ending Watch::lost(int rank) const {
  const auto silence = std::chrono::duration<double>(options_.silence_of(rank));
  return {.exit_code = kPeerLost,
          .origin = options_.rank,
          .lost = rank,
          .silent_s = silence.count(),
          .progress = options_.progress_of(rank)};
}

}  // namespace chimera
