// Transport of a rank that is a process of an MPI world. One communication
// thread makes all calls into MPI and sleeps between polls: Open MPI moves
// nothing while nobody calls it, and its blocking calls spin (bench/results has
// the measurements). The worker waits on a condition variable only, so every
// wait has its deadline.
#pragma once

#include <memory>
#include <vector>

#include "chimera/comm/ending.h"
#include "chimera/comm/link_clock.h"
#include "chimera/comm/transport.h"

namespace chimera {

struct MpiOptions {
  std::chrono::duration<double> deadline{300};
  LinkTimesPtr links = nullptr;  // slowed for emulated runs
  // Ranks of each sum group, ascending, by group number. A group of one rank
  // needs no communicator.
  std::vector<std::vector<int>> groups;
  // Ranks that this rank exchanges messages or sums with. REQUIRES: symmetric.
  std::vector<int> peers;
  // Upper bound of MessageId::index. REQUIRES: equal on every rank.
  std::int64_t messages = kFewMessages;

  // Number of tags that every MPI guarantees.
  static constexpr std::int64_t kFewMessages = 32768;

  // REQUIRES: the handler outlives the transport.
  EndingHandler& handler;
};

// REQUIRES: MPI is initialised with MPI_THREAD_SERIALIZED at least, no other
// thread calls it during the life of the transport, and all ranks make and
// destroy their transports in the same order.
[[nodiscard]] std::unique_ptr<class MpiTransport> make_mpi_transport(
    const MpiOptions& options);

class MpiTransport : public Transport {
 public:
  // The launcher will kill this process after `time_left`, perhaps because a
  // peer has died. From now on a peer that stays silent for most of that time
  // counts as lost. Callable on any thread.
  virtual void expect_kill(Clock::duration time_left) = 0;
  // Frees the worker after the end of the run: its waits throw AbortedError,
  // and abort() returns. The caller is responsible for the end of the process.
  // Callable on any thread.
  virtual void release(const std::string& reason) = 0;
};

}  // namespace chimera
