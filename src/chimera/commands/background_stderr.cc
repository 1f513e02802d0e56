#include "chimera/commands/background_stderr.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <iostream>
#include <mutex>
#include <streambuf>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace chimera {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr std::chrono::milliseconds kPatience{5000};

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(STDERR_FILENO, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;  // the reader is gone
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

// Text waiting to be written to stderr. Shared with the writing thread, which
// may still be stuck in a write after all other owners are gone.
class Queue {
 public:
  void add(std::string_view text) {
    const std::lock_guard lock(mutex_);
    if (dropped_ > 0 || waiting_.size() + text.size() > kMostBytes) {
      dropped_ += std::count(text.begin(), text.end(), '\n');
      return;
    }
    waiting_ += text;
    changed_.notify_all();
  }

  void close() {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    changed_.notify_all();
  }

  bool wait_until_written(std::chrono::milliseconds most) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, most, [this] {
      return waiting_.empty() && dropped_ == 0 && !is_writing_;
    });
  }

  // Body of the writing thread.
  void write_until_closed() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return !waiting_.empty() || is_closed_; });
      if (waiting_.empty()) return;
      std::string text = std::exchange(waiting_, {});
      is_writing_ = true;
      lock.unlock();
      write_all(text);
      lock.lock();
      is_writing_ = false;
      if (dropped_ > 0) {
        waiting_ = "(" + std::to_string(dropped_) +
                   " lines were dropped here, as nobody read them)\n";
        dropped_ = 0;
      }
      changed_.notify_all();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::string waiting_;
  std::ptrdiff_t dropped_ = 0;  // lines
  bool is_writing_ = false;
  bool is_closed_ = false;
};

class QueueBuffer final : public std::streambuf {
 public:
  // Signals are left to the threads that expect them.
  QueueBuffer() {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([queue = queue_] { queue->write_until_closed(); }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  QueueBuffer(const QueueBuffer&) = delete;
  QueueBuffer& operator=(const QueueBuffer&) = delete;
  ~QueueBuffer() override { queue_->close(); }

  void wait_until_written(std::chrono::milliseconds most) {
    queue_->wait_until_written(most);
  }

 protected:
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    queue_->add({text, static_cast<std::size_t>(size)});
    return size;
  }
  int_type overflow(int_type letter) override {
    if (traits_type::eq_int_type(letter, traits_type::eof())) return 0;
    const char text = traits_type::to_char_type(letter);
    queue_->add({&text, 1});
    return letter;
  }

 private:
  std::shared_ptr<Queue> queue_ = std::make_shared<Queue>();
};

}  // namespace

BackgroundStderr::BackgroundStderr()
    : buffer_(std::make_unique<QueueBuffer>()),
      before_(std::cerr.rdbuf(buffer_.get())) {}

BackgroundStderr::~BackgroundStderr() {
  flush_stderr(kPatience);
  std::cerr.rdbuf(before_);
}

void flush_stderr(std::chrono::milliseconds most) {
  auto* buffer = dynamic_cast<QueueBuffer*>(std::cerr.rdbuf());
  if (buffer != nullptr) buffer->wait_until_written(most);
}

}  // namespace chimera
