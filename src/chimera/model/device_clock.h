// The times of a device's work, by events, and the memory that it takes.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <memory>

#include "chimera/exec/time_mark.h"
#include "chimera/model/device_stream.h"

namespace chimera {

// Marks places in a stream. All marks are read as times after one event whose
// time by the host's clock is known.
class DeviceClock {
 public:
  // Waits for the stream, to read the host's clock at a known mark.
  explicit DeviceClock(const c10::Stream& stream)
      : stream_(stream), epoch_(std::make_shared<Epoch>(record())) {
    epoch_->event.synchronize();
    epoch_->time = Clock::now();
  }

  [[nodiscard]] TimeMarkPtr mark() const {
    return std::make_shared<Mark>(record(), epoch_);
  }

 private:
  struct Epoch {
    explicit Epoch(c10::Event at) : event(std::move(at)) {}
    c10::Event event;
    Clock::time_point time;
  };

  class Mark final : public TimeMark {
   public:
    Mark(c10::Event event, std::shared_ptr<const Epoch> epoch)
        : event_(std::move(event)), epoch_(std::move(epoch)) {}

    Clock::time_point time() override {
      if (!event_.query()) event_.synchronize();
      const std::chrono::duration<double, std::milli> since(
          epoch_->event.elapsedTime(event_));
      return epoch_->time + std::chrono::duration_cast<Clock::duration>(since);
    }

   private:
    c10::Event event_;
    std::shared_ptr<const Epoch> epoch_;
  };

  [[nodiscard]] c10::Event record() const {
    c10::Event event(stream_.device_type(), c10::EventFlag::BACKEND_DEFAULT);
    event.record(stream_);
    return event;
  }

  c10::Stream stream_;
  std::shared_ptr<Epoch> epoch_;
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
