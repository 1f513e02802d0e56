// Threads that run collectives while the workers compute. They sleep when
// there is nothing to do.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "chimera/comm/collective_job.h"

namespace chimera {

class CollectivePool {
 public:
  explicit CollectivePool(int threads);
  // Drops jobs that have not run, without calling their `done`.
  ~CollectivePool();

  // Runs all blocks, then calls `done` once on the thread that finished last: a
  // thread of the pool, or the caller's for a job of one block, since handing
  // it over would take longer.
  void run(CollectiveJob job, std::function<void()> done);

 private:
  struct Running {
    Running(CollectiveJob j, std::function<void()> d)
        : job(std::move(j)), done(std::move(d)), unfinished(job.num_blocks()) {}

    CollectiveJob job;
    std::function<void()> done;
    std::size_t next_block = 0;  // guarded by mutex_
    std::atomic<std::size_t> unfinished;
  };

  void work();
  // Waits for the next block and returns its job; null once the pool ends.
  std::shared_ptr<Running> take(std::size_t& block);

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Running>> queue_;  // guarded by mutex_
  bool ending_ = false;                         // guarded by mutex_
  std::vector<std::thread> threads_;
};

}  // namespace chimera
