// A thread that runs jobs one after the other. Jobs wait for operations of a
// process group, so that the worker's thread does not have to.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace chimera {

class Lane {
 public:
  using Job = std::function<void()>;

  Lane() : thread_([this] { run(); }) {}
  // Finishes the running job, cancelled if possible; drops all others.
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // REQUIRES: `job` does not throw.
  void push(Job job);

  // Called by the running job before it waits; `cancel` must end that wait and
  // may be called from any thread. False: the lane is cancelled and the job
  // must not wait.
  [[nodiscard]] bool begin_wait(std::function<void()> cancel);
  void end_wait();

  // Cancels the current wait and drops all jobs, present and future. Callable
  // from any thread.
  void cancel() noexcept;
  // Returns once no job is running.
  void wait_idle();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;          // guarded by mutex_, like all below
  std::function<void()> cancel_;  // ends the current wait; may be empty
  bool is_busy_ = false;
  bool is_cancelled_ = false;
  bool is_ending_ = false;
  std::thread thread_;  // last: it uses all members above
};

}  // namespace chimera
