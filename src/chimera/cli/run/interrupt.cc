#include "chimera/cli/run/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

namespace chimera {
namespace {

// A signal handler has nobody to hand it an object: the one global there is.
std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void note_interrupt(int /*signal*/) {
  interrupted = true;
  constexpr char kText[] =
      "\nending after this step; Ctrl-C again ends at once\n";
  if (write(STDERR_FILENO, kText, sizeof kText - 1) < 0) return;
}

}  // namespace

void catch_interrupt() {
  struct sigaction action = {};
  action.sa_handler = note_interrupt;
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
}

bool was_interrupted() { return interrupted; }

}  // namespace chimera
