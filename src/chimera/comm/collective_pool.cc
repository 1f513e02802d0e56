#include "chimera/comm/collective_pool.h"

namespace chimera {

CollectivePool::CollectivePool(int threads) {
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { work(); });
  }
}

CollectivePool::~CollectivePool() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void CollectivePool::run(CollectiveJob job, std::function<void()> done) {
  if (job.num_blocks() <= 1) {
    if (job.num_blocks() == 1) job.run_block(0);
    done();
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(
        std::make_shared<Running>(std::move(job), std::move(done)));
  }
  wake_.notify_all();
}

std::shared_ptr<CollectivePool::Running> CollectivePool::take(
    std::size_t& block) {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return ending_ || !queue_.empty(); });
  if (ending_) return nullptr;
  std::shared_ptr<Running> running = queue_.front();
  block = running->next_block++;
  if (running->next_block == running->job.num_blocks()) queue_.pop_front();
  return running;
}

void CollectivePool::work() {
  std::size_t block = 0;
  while (const std::shared_ptr<Running> running = take(block)) {
    running->job.run_block(block);
    if (--running->unfinished == 0) running->done();
  }
}

}  // namespace chimera
