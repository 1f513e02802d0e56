// The memory of the test device. It is mapped twice: tensors get addresses
// without any access rights, kernels reach the same bytes elsewhere. Whoever
// touches device memory on the host is caught at the first byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

namespace chimera::testing {

// A region that hands out blocks of whole pages. Thread-safe.
class MemoryRegion {
 public:
  // `is_hidden`: the host must not touch what take() returns.
  explicit MemoryRegion(bool is_hidden);
  MemoryRegion(const MemoryRegion&) = delete;
  MemoryRegion& operator=(const MemoryRegion&) = delete;

  // The block's numbers are NaN until they are written.
  [[nodiscard]] std::byte* take(std::size_t size);
  void give_back(std::byte* block);

  [[nodiscard]] bool contains(const void* place) const {
    return place >= base_ && place < base_ + kSize;
  }
  // Where kernels find the byte that tensors have at `place`.
  [[nodiscard]] std::byte* kernel_view(const void* place) const {
    return kernel_base_ + (static_cast<const std::byte*>(place) - base_);
  }
  // The size of the block that starts at `block`.
  [[nodiscard]] std::size_t size_of(const std::byte* block);
  // Sets the rights of all pages of a block, as mprotect().
  void protect(std::byte* block, int rights);

 private:
  static constexpr std::size_t kSize = std::size_t{4} << 30;  // not touched yet

  std::byte* base_ = nullptr;
  std::byte* kernel_base_ = nullptr;
  std::mutex mutex_;
  std::size_t used_ = 0;                                 // guarded, as below
  std::map<std::size_t, std::vector<std::byte*>> free_;  // by size
  std::map<const std::byte*, std::size_t> sizes_;        // of blocks in use
};

// Calls `on_touch` for every access to a place that `is_ours`, on the thread
// that made it, instead of ending the process; it must allow the access.
void catch_touches(const std::function<bool(void* place)>& is_ours,
                   const std::function<void(void* place)>& on_touch);

}  // namespace chimera::testing
