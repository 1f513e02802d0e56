// The times of a device's work, by events, and the memory that it takes.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <chrono>
#include <memory>
#include <utility>

#include "chimera/exec/time_mark.h"
#include "chimera/model/device_stream.h"

namespace chimera {

// Marks places in a stream. A mark is read as a time after an epoch, an event
// whose time by the host's clock is known. CUDA gives the time between two
// events as a float, so after a while a new epoch begins, measured from the one
// before it.
class DeviceClock {
 public:
  // Waits for the stream, to read the host's clock at a known mark.
  explicit DeviceClock(const c10::Stream& stream,
                       Clock::duration epoch_length = std::chrono::minutes(1))
      : stream_(stream),
        epoch_length_(epoch_length),
        epoch_(std::make_shared<Epoch>(record())) {
    epoch_->event.synchronize();
    epoch_->time = Clock::now();
  }

  [[nodiscard]] TimeMarkPtr mark() {
    const Clock::time_point now = Clock::now();
    if (now > next_epoch_) {
      epoch_ = std::make_shared<Epoch>(record(), std::move(epoch_));
      next_epoch_ = now + epoch_length_;
    }
    return std::make_shared<Mark>(record(), epoch_);
  }

 private:
  // Between an event that has happened and a later one, which has, too.
  [[nodiscard]] static Clock::duration between(const c10::Event& first,
                                               const c10::Event& last) {
    const std::chrono::duration<double, std::milli> since(
        first.elapsedTime(last));
    return std::chrono::duration_cast<Clock::duration>(since);
  }

  struct Epoch {
    explicit Epoch(c10::Event at, std::shared_ptr<Epoch> epoch = nullptr)
        : event(std::move(at)), before(std::move(epoch)) {}

    // REQUIRES: the event has happened.
    Clock::time_point read() {
      if (before) time = before->read() + between(before->event, event);
      before.reset();
      return time;
    }

    c10::Event event;
    Clock::time_point time;
    std::shared_ptr<Epoch> before;  // null once `time` is known
  };

  class Mark final : public TimeMark {
   public:
    Mark(c10::Event event, std::shared_ptr<Epoch> epoch)
        : event_(std::move(event)), epoch_(std::move(epoch)) {}

    Clock::time_point time() override {
      if (!event_.query()) event_.synchronize();
      return epoch_->read() + between(epoch_->event, event_);
    }

   private:
    c10::Event event_;
    std::shared_ptr<Epoch> epoch_;
  };

  [[nodiscard]] c10::Event record() const {
    c10::Event event(stream_.device_type(), c10::EventFlag::BACKEND_DEFAULT);
    event.record(stream_);
    return event;
  }

  c10::Stream stream_;
  Clock::duration epoch_length_;
  std::shared_ptr<Epoch> epoch_;
  Clock::time_point next_epoch_ = Clock::now() + epoch_length_;
};

// Measures the memory of a device that only one rank uses.
class DeviceMemory {
 public:
  explicit DeviceMemory(at::Device device) : device_(device) { reset_peak(); }

  [[nodiscard]] std::int64_t live_bytes() const { return bytes().current; }
  // The largest number of bytes in tensors since construction or reset.
  [[nodiscard]] std::int64_t peak_bytes() const { return bytes().peak; }
  // Size of the device's memory.
  [[nodiscard]] double total_bytes() const {
    return static_cast<double>(
        allocator().getMemoryInfo(device_.index()).second);
  }
  void reset_peak() { allocator().resetPeakStats(device_.index()); }

 private:
  [[nodiscard]] c10::CachingAllocator::Stat bytes() const {
    constexpr auto kAll =
        static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    return allocator().getDeviceStats(device_.index()).allocated_bytes[kAll];
  }
  [[nodiscard]] c10::DeviceAllocator& allocator() const {
    return *c10::getDeviceAllocator(device_.type());
  }

  at::Device device_;
};

}  // namespace chimera
