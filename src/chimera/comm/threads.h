// Ranks as threads of one process: no set-up, no socket, and activations change
// hands without a copy.
#pragma once

#include <chrono>
#include <memory>

#include "chimera/comm/link_clock.h"
#include "chimera/comm/transport.h"

namespace chimera {

struct ThreadsOptions {
  int ranks = 1;
  std::chrono::duration<double> deadline{300};
  LinkTimesPtr links = nullptr;  // slow links of an emulated run, or null
};

// Makes the transports of all ranks. REQUIRES: this object outlives their use,
// and every buffer given to a collective outlives this object.
class ThreadsWorld {
 public:
  explicit ThreadsWorld(const ThreadsOptions& options);
  ~ThreadsWorld();
  ThreadsWorld(const ThreadsWorld&) = delete;
  ThreadsWorld& operator=(const ThreadsWorld&) = delete;

  [[nodiscard]] Transport& at(int rank);

 private:
  class Shared;
  class Rank;

  std::unique_ptr<Shared> shared_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace chimera
