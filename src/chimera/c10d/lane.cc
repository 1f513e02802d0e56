#include "chimera/c10d/lane.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <exception>
#include <utility>

namespace chimera {

Lane::~Lane() {
  cancel();
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Lane::push(Job job) {
  {
    const std::lock_guard lock(mutex_);
    if (is_cancelled_) return;
    jobs_.push_back(std::move(job));
  }
  changed_.notify_all();
}

bool Lane::begin_wait(std::function<void()> cancel) {
  const std::lock_guard lock(mutex_);
  if (is_cancelled_) return false;
  cancel_ = std::move(cancel);
  return true;
}

void Lane::end_wait() {
  const std::lock_guard lock(mutex_);
  cancel_ = nullptr;
}

void Lane::cancel() noexcept {
  const std::lock_guard lock(mutex_);
  is_cancelled_ = true;
  jobs_.clear();
  if (!cancel_) return;
  try {
    cancel_();
  } catch (const std::exception&) {  // the wait still ends at its deadline
  }
}

void Lane::wait_idle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return jobs_.empty() && !is_busy_; });
}

void Lane::wait_for_device() const {
  if (device_.is_cpu()) return;
  const c10::impl::VirtualGuardImpl guard(device_.type());
  guard.synchronizeStream(guard.getStream(device_));
}

void Lane::run() {
  if (!device_.is_cpu()) {
    const c10::impl::VirtualGuardImpl guard(device_.type());
    guard.setDevice(device_);
    guard.exchangeStream(guard.getStreamFromGlobalPool(device_));
  }
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_ending_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    is_busy_ = true;
    lock.unlock();
    job();
    job = nullptr;  // free the job's captures before wait_idle() returns
    lock.lock();
    is_busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace chimera
