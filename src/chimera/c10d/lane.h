// A thread that runs jobs one after the other. Jobs wait for operations of a
// process group, so that the worker's thread does not have to.
#pragma once

#include <c10/core/Device.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace chimera {

class Lane {
 public:
  using Job = std::function<void()>;

  // Jobs have a stream of their own on `device`.
  explicit Lane(c10::Device device)
      : device_(device), thread_([this] { run(); }) {}
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

  // Called by the running job: waits until the device has done what the job has
  // queued on its stream. Does nothing on the CPU.
  void wait_for_device() const;

  // Cancels the current wait and drops all jobs, present and future. Callable
  // from any thread.
  void cancel() noexcept;
  // Returns once no job is running.
  void wait_idle();

 private:
  void run();

  c10::Device device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;          // guarded by mutex_, like all below
  std::function<void()> cancel_;  // ends the current wait; may be empty
  bool is_busy_ = false;
  bool is_cancelled_ = false;
  bool is_ending_ = false;
  std::thread thread_;  // last member: the thread uses all others
};

}  // namespace chimera
