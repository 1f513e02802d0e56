// How much memory the tensors of one rank take: libtorch's allocator for CPUs,
// wrapped, notes for whom each block was made.
//
// What is not counted: what libraries below libtorch (MKL, oneDNN) and the
// program itself allocate. A block that nobody claims (a message on its way, a
// helper thread's scratch) counts for the unclaimed ones.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace chimera {

// From any thread.
class MemoryMeter {
 public:
  [[nodiscard]] std::int64_t live_bytes() const { return live_; }
  // The most since it was made or reset.
  [[nodiscard]] std::int64_t peak_bytes() const { return peak_; }
  void reset_peak() { peak_ = live_.load(); }

  void add(std::int64_t bytes);

 private:
  std::atomic<std::int64_t> live_ = 0;
  std::atomic<std::int64_t> peak_ = 0;
};

// While it lives, what this thread allocates counts for `meter`, until freed by
// whomever. The first one wraps the allocator, once for all: an allocator has
// no other way to know its caller than the thread.
class MeterScope {
 public:
  explicit MeterScope(std::shared_ptr<MemoryMeter> meter);
  ~MeterScope();
  MeterScope(const MeterScope&) = delete;
  MeterScope& operator=(const MeterScope&) = delete;

 private:
  std::shared_ptr<MemoryMeter> before_;
};

// Counts the tensor's block for the meter of this thread from now on; one that
// is not of the wrapped allocator stays uncounted.
void claim(const at::Tensor& tensor);
// For nobody's.
void disclaim(const at::Tensor& tensor);

// Counts as much for the meter of this thread, for good: of memory that ranks
// share, each is charged what it would need by itself.
void count_too(const at::Tensor& tensor);

// Of blocks without a meter, since the first MeterScope.
[[nodiscard]] const MemoryMeter& unclaimed_memory();

}  // namespace chimera
