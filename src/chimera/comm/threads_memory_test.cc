// Ranks as threads where memory runs out. This file replaces operator new of
// the test program, so that a chosen allocation of one thread can fail.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "chimera/comm/threads.h"

namespace {

// Allocations of this thread that still succeed before one fails; below 0 all
// succeed.
thread_local int allocations_left = -1;

}  // namespace

void* operator new(std::size_t size) {
  if (allocations_left >= 0 && allocations_left-- == 0) throw std::bad_alloc();
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace chimera {
namespace {

// Returns whether abort() returns in time. It is called on a thread of its own,
// which is left behind if it hangs.
bool aborts(std::shared_ptr<ThreadsWorld> world) {
  std::promise<void> returned;
  std::future<void> done = returned.get_future();
  std::thread([world = std::move(world),
               returned = std::move(returned)]() mutable {
    world->at(1).abort("out of memory");
    returned.set_value();
  }).detach();
  return done.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
}

// Starts a sum in which only the first `allocations` allocations of the second
// member succeed. Returns whether the sum could start.
bool starts_sum(Transport& first, Transport& second, int allocations) {
  static constexpr std::array<int, 2> kMembers = {0, 1};
  // Enough numbers for several blocks, which the pool's threads add up.
  static std::vector<float> numbers(1 << 20);
  const NumberBuffer half{.data = numbers.data(), .count = numbers.size() / 2};
  const NumberBuffer other{.data = numbers.data() + half.count,
                           .count = half.count};
  first.start_collective({.group = 3}, kMembers, half);
  try {
    allocations_left = allocations;
    second.start_collective({.group = 3}, kMembers, other);
    allocations_left = -1;
  } catch (const std::bad_alloc&) {
    return false;
  }
  first.wait_collective({.group = 3});
  return true;
}

TEST(ThreadsMemory, AbortReturnsWhicheverAllocationOfASumFails) {
  bool has_started = false;
  for (int allocations = 0; !has_started; ++allocations) {
    const auto world =
        std::make_shared<ThreadsWorld>(ThreadsOptions{.ranks = 2});
    has_started = starts_sum(world->at(0), world->at(1), allocations);
    ASSERT_TRUE(aborts(world)) << "after " << allocations << " allocations";
  }
}

}  // namespace
}  // namespace chimera
