#include "tests/device/device_memory.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <stdexcept>

namespace chimera::testing {
namespace {

constexpr std::size_t kPage = 4096;

std::byte* map(int file, std::size_t size, int rights) {
  void* place =
      mmap(nullptr, size, rights, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (place == MAP_FAILED) throw std::runtime_error("mmap");
  return static_cast<std::byte*>(place);
}

}  // namespace

MemoryRegion::MemoryRegion(bool is_hidden) {
  const int file = memfd_create("test_device", 0);
  if (file < 0 || ftruncate(file, kSize) != 0) {
    throw std::runtime_error("memfd_create");
  }
  base_ = map(file, kSize, is_hidden ? PROT_NONE : PROT_READ | PROT_WRITE);
  kernel_base_ = map(file, kSize, PROT_READ | PROT_WRITE);
  close(file);
}

// Sizes are powers of two, so that a block is soon used again.
std::byte* MemoryRegion::take(std::size_t size) {
  const std::size_t whole = std::max(kPage, std::bit_ceil(size));
  const std::lock_guard lock(mutex_);
  std::vector<std::byte*>& free = free_[whole];
  std::byte* block = nullptr;
  if (!free.empty()) {
    block = free.back();
    free.pop_back();
  } else {
    if (used_ + whole > kSize) throw std::bad_alloc();
    block = base_ + used_;
    used_ += whole;
  }
  sizes_[block] = whole;
  std::memset(kernel_view(block), 0xFF, whole);
  return block;
}

void MemoryRegion::give_back(std::byte* block) {
  const std::lock_guard lock(mutex_);
  const auto size = sizes_.find(block);
  free_[size->second].push_back(block);
  sizes_.erase(size);
}

std::size_t MemoryRegion::size_of(const std::byte* block) {
  const std::lock_guard lock(mutex_);
  return sizes_.at(block);
}

void MemoryRegion::protect(std::byte* block, int rights) {
  if (mprotect(block, size_of(block), rights) != 0) {
    throw std::runtime_error("mprotect");
  }
}

namespace {

std::function<bool(void*)>& ours() {
  static std::function<bool(void*)> is_ours;
  return is_ours;
}
std::function<void(void*)>& touched() {
  static std::function<void(void*)> on_touch;
  return on_touch;
}

// The access itself caused the signal, on this thread and outside this file, so
// no lock of ours is held. It is repeated on return.
void on_fault(int signal_number, siginfo_t* info, void*) {
  if (ours()(info->si_addr)) {
    touched()(info->si_addr);
    return;
  }
  signal(signal_number, SIG_DFL);
}

}  // namespace

void catch_touches(const std::function<bool(void* place)>& is_ours,
                   const std::function<void(void* place)>& on_touch) {
  ours() = is_ours;
  touched() = on_touch;
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &action, nullptr);
}

}  // namespace chimera::testing
