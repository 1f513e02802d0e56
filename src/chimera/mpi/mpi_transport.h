// A rank that is a process of an MPI world. Everything MPI is done by one
// communication thread, which sleeps between polls: Open MPI moves nothing
// while nobody calls it, and its blocking calls spin (bench/results has the
// measurements). The worker only ever waits on a condition variable, so every
// wait has its deadline.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "chimera/comm/ending.h"
#include "chimera/comm/link_clock.h"
#include "chimera/comm/transport.h"

namespace chimera {

struct MpiOptions {
  std::chrono::duration<double> deadline{300};
  LinkSpeed links = {};  // slowed for emulated runs
  // By group number, ascending ranks; those of one rank need nothing.
  std::vector<std::vector<int>> groups;
  // Ranks that this one exchanges messages or sums with; symmetric.
  std::vector<int> peers;
  // MessageId::index is below this; the same on every rank.
  std::int64_t messages = kFewMessages;

  // As many as have a tag of their own in every MPI.
  static constexpr std::int64_t kFewMessages = 32768;

  // What the exception that is being handled means, as every rank shall learn
  // it. Called by abort(), in the catch block.
  std::function<Cause()> cause;
  // The run is over on every rank: says why, at once; then ends the process,
  // as what MPI still has under way can be neither finished nor recalled. Both
  // on a thread of their own; the second must not return.
  std::function<void(const Ending& ending)> speak;
  std::function<void(int exit_code)> leave;
};

// REQUIRES: MPI is initialised with MPI_THREAD_SERIALIZED at least, nobody else
// calls it while this lives, and all ranks make and destroy theirs in the same
// order.
[[nodiscard]] std::unique_ptr<class MpiTransport> make_mpi_transport(
    const MpiOptions& options);

class MpiTransport : public Transport {
 public:
  // The launcher will kill this process so soon, perhaps because a peer has
  // died: a peer that stays silent for most of that time counts as lost. Any
  // thread.
  virtual void expect_kill(Clock::duration time_left) = 0;
  // Lets the worker go although the run is over: its waits throw AbortedError,
  // and abort() returns. Whoever calls it sees to the end of the process.
  virtual void release(const std::string& reason) = 0;
};

}  // namespace chimera
