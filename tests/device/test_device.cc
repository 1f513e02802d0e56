#include "tests/device/test_device.h"

#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/DeviceType.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>

#include "tests/device/device_runtime.h"

namespace chimera::testing {
namespace {

// Turns off the CPU's own bf16 kernels (has_bf16_products()) before anything
// computes. They exist on the CPU only, and give other bits than libtorch's
// operators, which compute everywhere else.
[[maybe_unused]] const int kWithoutCpuKernels =
    ::setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE", /*overwrite=*/1);

constexpr c10::DeviceType kType = c10::kPrivateUse1;

// As with CUDA, a thread has a current device, and a current stream on each.
thread_local c10::DeviceIndex current_device = 0;
thread_local std::array<c10::StreamId, kTestDevices> current_streams = {};
// The device of the rank that this thread runs, from its first setDevice. Waits
// of other threads, such as those that write checkpoints, delay no rank.
thread_local c10::DeviceIndex rank_device = -1;

c10::Stream stream_of(c10::DeviceIndex device, c10::StreamId id) {
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(kType, device), id);
}

struct RecordedEvent {
  VectorClock clock;
  std::chrono::steady_clock::time_point time;
};

class Guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return kType; }
  c10::Device exchangeDevice(c10::Device device) const override {
    return {kType, std::exchange(current_device, device.index())};
  }
  c10::Device getDevice() const override { return {kType, current_device}; }
  void setDevice(c10::Device device) const override {
    current_device = device.index();
    rank_device = device.index();
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    current_device = device.index();
  }
  c10::DeviceIndex deviceCount() const noexcept override {
    return kTestDevices;
  }

  c10::Stream getStream(c10::Device device) const override {
    const c10::DeviceIndex index =
        device.has_index() ? device.index() : current_device;
    return stream_of(index, current_streams[index]);
  }
  c10::Stream getDefaultStream(c10::Device device) const override {
    return stream_of(device.index(), 0);
  }
  // Returns a new stream each time: a reused one could hide a mistake by
  // chance.
  c10::Stream getStreamFromGlobalPool(c10::Device device,
                                      bool /*priority*/) const override {
    static std::array<std::atomic<c10::StreamId>, kTestDevices> last = {};
    const c10::StreamId id = ++last[device.index()];
    TORCH_CHECK(id < kStreamsPerDevice, "too many streams");
    return stream_of(device.index(), id);
  }
  c10::Stream getNewStream(c10::Device device,
                           int /*priority*/) const override {
    return getStreamFromGlobalPool(device, false);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    const c10::DeviceIndex index = stream.device_index();
    return stream_of(index, std::exchange(current_streams[index], stream.id()));
  }

  void record(void** event, const c10::Stream& stream,
              c10::DeviceIndex /*device*/,
              c10::EventFlag /*flag*/) const override {
    if (*event == nullptr) *event = new RecordedEvent;
    clock_of(*event) = runtime().checker.record(DeviceRuntime::number(stream));
    static_cast<RecordedEvent*>(*event)->time =
        std::chrono::steady_clock::now();
  }
  double elapsedTime(void* from, void* to,
                     c10::DeviceIndex /*device*/) const override {
    const auto time = static_cast<RecordedEvent*>(to)->time -
                      static_cast<RecordedEvent*>(from)->time;
    return kClockRate * std::chrono::duration<double, std::milli>(time).count();
  }
  void block(void* event, const c10::Stream& stream) const override {
    if (event == nullptr) return;  // never recorded: no wait, as with CUDA
    runtime().checker.wait(DeviceRuntime::number(stream), clock_of(event));
  }
  void destroyEvent(void* event,
                    c10::DeviceIndex /*device*/) const noexcept override {
    delete static_cast<RecordedEvent*>(event);
  }
  bool queryEvent(void* event) const override {
    if (event != nullptr) runtime().checker.host_knows(clock_of(event));
    runtime().return_pinned();
    return true;
  }
  void synchronizeEvent(void* event) const override {
    if (event == nullptr) return;
    runtime().checker.host_wait(rank_device, clock_of(event));
    runtime().return_pinned();
  }
  bool queryStream(const c10::Stream& /*stream*/) const override {
    return false;
  }
  void synchronizeStream(const c10::Stream& stream) const override {
    OrderChecker& checker = runtime().checker;
    checker.host_wait(stream.device_index(),
                      checker.record(DeviceRuntime::number(stream)));
    runtime().return_pinned();
  }

 private:
  static DeviceRuntime& runtime() { return DeviceRuntime::get(); }
  static VectorClock& clock_of(void* event) {
    return static_cast<RecordedEvent*>(event)->clock;
  }
};

class DeviceAllocator final : public c10::DeviceAllocator {
 public:
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t /*pool*/) override {}
  void recordStream(const c10::DataPtr& /*block*/,
                    c10::Stream /*stream*/) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(
      c10::DeviceIndex device) override {
    const std::lock_guard lock(mutex);
    c10::CachingDeviceAllocator::DeviceStats stats;
    stats.allocated_bytes[0] = bytes[device];
    return stats;
  }
  void resetAccumulatedStats(c10::DeviceIndex /*device*/) override {}
  void resetPeakStats(c10::DeviceIndex device) override {
    const std::lock_guard lock(mutex);
    bytes[device].reset_peak();
  }

  c10::DataPtr allocate(std::size_t size) override {
    const c10::Device device(kType, current_device);
    if (size == 0) return {nullptr, nullptr, &free, device};
    DeviceRuntime& runtime = DeviceRuntime::get();
    std::byte* block = runtime.memory.take(size);
    runtime.checker.allocated(block, runtime.memory.size_of(block),
                              DeviceRuntime::current(device));
    const std::lock_guard lock(mutex);
    bytes[current_device].increase(size);
    sizes[block] = {current_device, size};
    return {block, block, &free, device};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free; }
  void copy_data(void* to, const void* from, std::size_t size) const override {
    default_copy_data(to, from, size);
  }

 private:
  static void free(void* block) {
    if (block == nullptr) return;
    {
      const std::lock_guard lock(mutex);
      const auto found = sizes.find(block);
      bytes[found->second.first].decrease(found->second.second);
      sizes.erase(found);
    }
    DeviceRuntime& runtime = DeviceRuntime::get();
    runtime.checker.freed(static_cast<std::byte*>(block));
    runtime.memory.give_back(static_cast<std::byte*>(block));
  }

  static inline std::mutex mutex;  // guards what follows
  static inline std::array<c10::CachingAllocator::Stat, kTestDevices> bytes;
  // Device and size of each block.
  static inline std::map<void*, std::pair<c10::DeviceIndex, std::size_t>> sizes;
};

class PinnedAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t size) override {
    std::byte* block = DeviceRuntime::get().pinned.take(size);
    return {block, block, &free, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free; }
  void copy_data(void* to, const void* from, std::size_t size) const override {
    default_copy_data(to, from, size);
  }

 private:
  // Gives a block back without checks, because CUDA's allocator reuses one only
  // when its copies are done.
  static void free(void* block) {
    DeviceRuntime& runtime = DeviceRuntime::get();
    runtime.forget_pinned(static_cast<std::byte*>(block));
    runtime.pinned.give_back(static_cast<std::byte*>(block));
  }
};

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex /*device*/) const override {
    return true;
  }
  c10::DeviceIndex deviceCount() const override { return kTestDevices; }
  c10::DeviceIndex getCurrentDevice() const override { return current_device; }
  void setCurrentDevice(c10::DeviceIndex device) const override {
    current_device = device;
  }
  bool isPinnedPtr(const void* place) const override {
    return DeviceRuntime::get().pinned.contains(place);
  }
  at::Allocator* getPinnedMemoryAllocator() const override {
    static PinnedAllocator allocator;
    return &allocator;
  }
};

}  // namespace

DeviceRuntime& DeviceRuntime::get() {
  static auto* runtime = new DeviceRuntime;  // outlives all tensors
  return *runtime;
}

int DeviceRuntime::current(at::Device device) {
  return number(stream_of(device.index(), current_streams[device.index()]));
}

void DeviceRuntime::lend_pinned(const void* place, int stream,
                                std::uint64_t number, int rights) {
  auto* block = const_cast<std::byte*>(static_cast<const std::byte*>(place));
  const std::lock_guard lock(mutex_);
  pinned.protect(block, rights);
  lent_.push_back({block, stream, number});
}

void DeviceRuntime::forget_pinned(const std::byte* block) {
  const std::lock_guard lock(mutex_);
  const auto removed = std::erase_if(
      lent_, [&](const Lent& lent) { return lent.block == block; });
  if (removed > 0) {
    pinned.protect(const_cast<std::byte*>(block), PROT_READ | PROT_WRITE);
  }
}

void DeviceRuntime::return_pinned() {
  const std::lock_guard lock(mutex_);
  std::erase_if(lent_, [this](const Lent& lent) {
    if (!checker.is_known(lent.stream, lent.number)) return false;
    pinned.protect(lent.block, PROT_READ | PROT_WRITE);
    return true;
  });
}

void DeviceRuntime::touched(void* place) {
  const auto* byte = static_cast<const std::byte*>(place);
  if (memory.contains(place)) {
    checker.host_touched(byte, "memory of the device");
  } else {
    checker.host_touched(byte, "pinned memory that a copy still uses");
  }
  constexpr std::uintptr_t kPage = 4096;
  const auto address = reinterpret_cast<std::uintptr_t>(place);
  mprotect(reinterpret_cast<void*>(address / kPage * kPage), kPage,
           PROT_READ | PROT_WRITE);
}

OrderChecker& use_test_device() {
  static const bool registered = [] {
    static Guard guard;
    static DeviceAllocator allocator;
    static Hooks hooks;
    static const c10::impl::DeviceGuardImplRegistrar registrar(kType, &guard);
    c10::register_privateuse1_backend("testdevice");
    c10::SetAllocator(kType, &allocator);
    at::RegisterPrivateUse1HooksInterface(&hooks);
    register_device_operators();
    DeviceRuntime& runtime = DeviceRuntime::get();
    catch_touches([&](void* place) { return runtime.is_ours(place); },
                  [&](void* place) { runtime.touched(place); });
    return true;
  }();
  (void)registered;
  return DeviceRuntime::get().checker;
}

}  // namespace chimera::testing
