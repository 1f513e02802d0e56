#include "chimera/exec/run_threads.h"

#include <sys/prctl.h>

#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "chimera/comm/comm_error.h"

namespace chimera {
namespace {

// Keeps the first failure, not the AbortedErrors that it caused on other ranks.
class FirstFailure {
 public:
  // REQUIRES: called in a catch block.
  void note(bool was_woken) {
    const std::lock_guard lock(mutex_);
    std::exception_ptr& failure = was_woken ? woken_ : failure_;
    if (!failure) failure = std::current_exception();
  }
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
    if (woken_) std::rethrow_exception(woken_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr failure_;
  std::exception_ptr woken_;
};

}  // namespace

void run_threads(const ThreadsOptions& options,
                 const std::function<void(Transport& transport)>& body) {
  ThreadsWorld world(options);
  FirstFailure failure;
  const auto run = [&](int rank) {
    // Lets timers of this thread end within 1 us instead of up to 50 us late.
    prctl(PR_SET_TIMERSLACK, 1000UL);
    try {
      body(world.at(rank));
    } catch (const AbortedError&) {
      failure.note(true);
    } catch (const std::exception& error) {
      failure.note(false);
      world.at(rank).abort(error.what());
    }
  };
  std::vector<std::thread> threads;
  try {
    for (int rank = 0; rank < options.ranks; ++rank) {
      threads.emplace_back(run, rank);
    }
  } catch (const std::system_error& error) {  // a thread could not be started
    failure.note(false);
    world.at(0).abort(error.what());
  }
  for (std::thread& thread : threads) thread.join();
  failure.rethrow();
}

void run_workers(
    const ThreadsOptions& options,
    const std::function<std::unique_ptr<StageCompute>(int rank)>& make,
    const std::function<void(Transport& transport, StageCompute& compute)>&
        body) {
  std::vector<std::unique_ptr<StageCompute>> computes(options.ranks);
  run_threads(options, [&](Transport& transport) {
    std::unique_ptr<StageCompute>& compute = computes[transport.rank()];
    compute = make(transport.rank());
    body(transport, *compute);
  });
}

}  // namespace chimera
