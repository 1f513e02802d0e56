#include "chimera/run/signals.h"

#include <csignal>
#include <ctime>

namespace chimera {
namespace {

sigset_t ours() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGQUIT}) {
    sigaddset(&set, signal);
  }
  return set;
}

// Ends the process by the signal's default action.
void die_of(int signal) {
  std::signal(signal, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  raise(signal);
}

}  // namespace

Signals::Signals() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  const sigset_t set = ours();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::thread([this] { wait(); });
}

Signals::~Signals() {
  is_ending_ = true;
  thread_.join();
}

void Signals::handle(const Handlers& handlers) {
  const std::lock_guard lock(mutex_);
  handlers_ = handlers;
}

void Signals::wait() {
  const sigset_t set = ours();
  const timespec period{.tv_sec = 0, .tv_nsec = 50'000'000};
  while (!is_ending_) {
    siginfo_t info{};
    const int signal = sigtimedwait(&set, &info, &period);
    if (signal > 0) take(signal, info.si_pid);
  }
}

void Signals::take(int signal, int sender) {
  const std::lock_guard lock(mutex_);
  if (!handlers_) return die_of(signal);
  if (signal == SIGQUIT) {
    if (handlers_->on_quit) handlers_->on_quit();
    return;
  }
  const bool is_second = wish_ != Wish::kGoOn;
  // mpirun forwards the user's Ctrl-C and then sends SIGTERM: together they
  // count as one request.
  if (is_second && !(signal == SIGTERM && handlers_->on_terminate)) {
    return die_of(signal);
  }
  // A launcher's SIGTERM follows the end of another rank, so nothing needs to
  // be said.
  const bool is_launchers = signal == SIGTERM && handlers_->on_terminate;
  if (!is_second && !is_launchers && handlers_->say) {
    handlers_->say(signal == SIGINT
                       ? "\nending after this step; Ctrl-C again ends at once\n"
                       : "\nasked to end: ending after this step\n");
  }
  if (!is_second) wish_ = signal == SIGINT ? Wish::kEnd : Wish::kSaveAndEnd;
  if (signal == SIGTERM && handlers_->on_terminate) {
    handlers_->on_terminate(sender);
  }
}

}  // namespace chimera
