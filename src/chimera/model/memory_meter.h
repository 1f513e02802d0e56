// Measures the memory that the tensors of one rank take: libtorch's CPU
// allocator is wrapped and records the rank of each block.
//
// Allocations of libraries below libtorch (MKL, oneDNN) and of the program
// itself are not counted. A block that no rank claims (a message in transit,
// scratch memory of a helper thread) counts as unclaimed.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace chimera {

// Thread-safe.
class MemoryMeter {
 public:
  [[nodiscard]] std::int64_t live_bytes() const { return live_; }
  // The largest number of bytes alive at once since construction or reset.
  [[nodiscard]] std::int64_t peak_bytes() const { return peak_; }
  void reset_peak() { peak_ = live_.load(); }

  void add(std::int64_t bytes);

 private:
  std::atomic<std::int64_t> live_ = 0;
  std::atomic<std::int64_t> peak_ = 0;
};

// While a MeterScope exists, allocations of its thread count for `meter`, until
// any thread frees them. The first MeterScope wraps the allocator permanently.
// The thread identifies the rank because an allocator knows nothing else about
// its caller.
class MeterScope {
 public:
  explicit MeterScope(std::shared_ptr<MemoryMeter> meter);
  ~MeterScope();
  MeterScope(const MeterScope&) = delete;
  MeterScope& operator=(const MeterScope&) = delete;

 private:
  std::shared_ptr<MemoryMeter> before_;
};

// Moves the tensor's block to this thread's meter. Blocks that the wrapped
// allocator did not make stay uncounted.
void claim(const at::Tensor& tensor);
// Moves the tensor's block to the unclaimed memory.
void disclaim(const at::Tensor& tensor);

// Adds the tensor's size to this thread's meter permanently. Each rank that
// shares memory is thus charged what it would need alone.
void count_too(const at::Tensor& tensor);

// The meter of blocks that no rank claims, counted since the first MeterScope.
[[nodiscard]] const MemoryMeter& unclaimed_memory();

}  // namespace chimera
