// A thread that runs what it is given, one after the other: it waits for what
// a process group has under way, so that the worker need not.
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
  // Finishes the job at hand, cancelled if it can be; drops all others.
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // REQUIRES: `job` does not throw.
  void push(Job job);

  // Called by the job at hand before it waits: `cancel` ends that wait from
  // any thread. False: the lane is cancelled, and nothing is to be waited for.
  [[nodiscard]] bool begin_wait(std::function<void()> cancel);
  void end_wait();

  // Ends the wait at hand and drops all jobs, now and later. Any thread.
  void cancel() noexcept;
  // Returns once no job is at hand.
  void wait_idle();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;          // guarded by mutex_, like all below
  std::function<void()> cancel_;  // of the wait at hand; may be empty
  bool is_busy_ = false;
  bool is_cancelled_ = false;
  bool is_ending_ = false;
  std::thread thread_;  // last: it uses everything above
};

}  // namespace chimera
