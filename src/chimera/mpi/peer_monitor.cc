#include "chimera/mpi/peer_monitor.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace chimera {
namespace {

constexpr auto kPeriod = std::chrono::milliseconds(50);
// Time between the report and the end of the process. mpirun kills the other
// ranks as soon as the first one leaves, so all must have reported by then.
constexpr auto kLinger = std::chrono::milliseconds(500);
// A thread that wakes up this much too late belongs to a process that was
// stopped, or to a host that was asleep.
constexpr auto kStopped = std::chrono::seconds(1);

}  // namespace

PeerMonitor::PeerMonitor(Options options, Heartbeats& heartbeats,
                         EndingHandler& handler)
    : options_(std::move(options)),
      heartbeats_(heartbeats),
      handler_(handler),
      wake_(eventfd(0, EFD_NONBLOCK)),
      longest_silence_(options_.longest_silence) {
  for (const Process& process : options_.processes) {
    const auto pidfd =
        static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0));
    // ESRCH: the process has ended already. (Linux before 5.3 has no pidfd;
    // there a death shows only as silence.)
    if (pidfd < 0 && errno == ESRCH) end_run_after_death(process.rank);
    pidfds_.push_back(pidfd);
  }
  thread_ = std::thread([this] { run(); });
}

PeerMonitor::~PeerMonitor() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wake();
  thread_.join();
  for (const int pidfd : pidfds_) {
    if (pidfd >= 0) close(pidfd);
  }
  close(wake_);
}

void PeerMonitor::wake() const {
  const std::uint64_t one = 1;
  // The write can only fail if the thread is awake already.
  if (write(wake_, &one, sizeof one) < 0) return;
}

void PeerMonitor::end_run(const Ending& ending) {
  {
    const std::lock_guard lock(mutex_);
    // Replaces a known ending only by one of an earlier kind, so that all ranks
    // settle on the same one.
    if (ending_ && ending_->kind <= ending.kind) return;
    ending_ = ending;
  }
  wake();
}

void PeerMonitor::end_run_after_death(int rank) {
  Ending death = loss_of(rank);
  death.is_dead = true;
  end_run(death);
}

std::optional<Ending> PeerMonitor::ending() const {
  const std::lock_guard lock(mutex_);
  return ending_;
}

// Leaves a part of the remaining time for telling the other ranks.
void PeerMonitor::expect_kill(Clock::duration time_left) {
  const std::lock_guard lock(mutex_);
  longest_silence_ = std::min(longest_silence_, time_left * 7 / 10);
}

void PeerMonitor::allow_leaving() {
  const std::lock_guard lock(mutex_);
  may_leave_ = true;
}

void PeerMonitor::run() {
  std::optional<Clock::time_point> leave_at;
  Clock::time_point last_look = Clock::now();
  std::unique_lock lock(mutex_);
  while (!is_stopping_) {
    const bool is_watching = !ending_ && !may_leave_;
    const std::optional<Ending> ending = ending_;
    lock.unlock();
    // Reports without holding the lock, because a report may take long.
    if (ending && !leave_at) {
      handler_.report(*ending);
      leave_at = Clock::now() + kLinger;
    }
    if (leave_at && Clock::now() >= *leave_at) {
      handler_.leave(ending->kind);
    }
    const std::optional<int> dead = wait_for_death(is_watching);
    const Clock::time_point now = Clock::now();
    const bool was_stopped = now - std::exchange(last_look, now) > kStopped;
    if (was_stopped) {
      // This process was stopped, so no peer was late: messages that have
      // arrived meanwhile are read before any silence counts.
      heartbeats_.reset_silences();
      std::this_thread::sleep_for(kPeriod);
    } else if (dead) {
      end_run_after_death(*dead);
    } else if (is_watching) {
      check_silences();
    }
    lock.lock();
  }
}

std::optional<int> PeerMonitor::wait_for_death(bool is_watching) const {
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

// If several ranks are silent, the one that has been so for the longest time
// was probably the first to fail.
void PeerMonitor::check_silences() {
  Clock::duration limit;
  {
    const std::lock_guard lock(mutex_);
    limit = longest_silence_;
  }
  const auto [peer, silence] = heartbeats_.own_longest_silence();
  if (silence > limit) end_run(loss_of(peer));
}

Ending PeerMonitor::loss_of(int rank) const {
  const auto silence =
      std::chrono::duration<double>(heartbeats_.silence_of(rank));
  return {.kind = FailureKind::kPeerLost,
          .origin = options_.rank,
          .lost = rank,
          .silent_s = silence.count(),
          .progress = heartbeats_.progress_of(rank)};
}

}  // namespace chimera
