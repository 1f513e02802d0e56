#include "chimera/model/memory_meter.h"

#include <c10/core/CPUAllocator.h>

#include <mutex>
#include <new>
#include <utility>

#include "chimera/base/check.h"

namespace chimera {
namespace {

// Placed before the data of every block. It takes a whole alignment unit, so
// that the data stays aligned as libtorch expects.
struct Header {
  std::shared_ptr<MemoryMeter> meter;
  std::int64_t bytes = 0;
  c10::DeleterFnPtr free = nullptr;  // the plain allocator's
};
constexpr std::size_t kHeaderBytes = 64;
static_assert(sizeof(Header) <= kHeaderBytes);

thread_local std::shared_ptr<MemoryMeter> meter_of_thread;

const std::shared_ptr<MemoryMeter>& nobody() {
  static const auto meter = std::make_shared<MemoryMeter>();
  return meter;
}

const std::shared_ptr<MemoryMeter>& current_meter() {
  return meter_of_thread ? meter_of_thread : nobody();
}

Header* header_of(void* numbers) {
  return reinterpret_cast<Header*>(static_cast<char*>(numbers) - kHeaderBytes);
}

void free_block(void* numbers) {
  if (numbers == nullptr) return;
  Header* header = header_of(numbers);
  header->meter->add(-header->bytes);
  const c10::DeleterFnPtr free = header->free;
  header->~Header();
  free(header);
}

class MeteredAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t size) override {
    const c10::Device cpu(c10::kCPU);
    if (size == 0) return {nullptr, nullptr, &free_block, cpu};
    c10::DataPtr whole =
        c10::GetDefaultCPUAllocator()->allocate(size + kHeaderBytes);
    CHIMERA_CHECK(whole.get() == whole.get_context(), "a plain block");
    const c10::DeleterFnPtr free = whole.get_deleter();
    auto* block = static_cast<char*>(whole.release_context());
    auto* header = new (block)
        Header{current_meter(), static_cast<std::int64_t>(size), free};
    header->meter->add(header->bytes);
    char* numbers = block + kHeaderBytes;
    return {numbers, numbers, &free_block, cpu};
  }

  // Needed because libtorch's kernels also allocate scratch memory without a
  // tensor.
  c10::DeleterFnPtr raw_deleter() const override { return &free_block; }

  void copy_data(void* to, const void* from, std::size_t size) const override {
    default_copy_data(to, from, size);
  }
};

void wrap_allocator() {
  static std::once_flag once;
  std::call_once(once, [] {
    static MeteredAllocator allocator;
    c10::SetCPUAllocator(&allocator, /*priority=*/255);
  });
}

void move_to(const at::Tensor& tensor,
             const std::shared_ptr<MemoryMeter>& meter) {
  const c10::DataPtr& data = tensor.storage().data_ptr();
  if (data.get_deleter() != &free_block) return;
  if (data.get_context() == nullptr) return;
  Header* header = header_of(data.get_context());
  if (header->meter == meter) return;
  header->meter->add(-header->bytes);
  header->meter = meter;
  meter->add(header->bytes);
}

}  // namespace

void MemoryMeter::add(std::int64_t bytes) {
  const std::int64_t now = live_ += bytes;
  std::int64_t peak = peak_;
  while (now > peak && !peak_.compare_exchange_weak(peak, now)) {
  }
}

MeterScope::MeterScope(std::shared_ptr<MemoryMeter> meter) {
  wrap_allocator();
  before_ = std::exchange(meter_of_thread, std::move(meter));
}

MeterScope::~MeterScope() { meter_of_thread = std::move(before_); }

void claim(const at::Tensor& tensor) { move_to(tensor, current_meter()); }

void disclaim(const at::Tensor& tensor) { move_to(tensor, nobody()); }

void count_too(const at::Tensor& tensor) {
  current_meter()->add(static_cast<std::int64_t>(tensor.nbytes()));
}

const MemoryMeter& unclaimed_memory() { return *nobody(); }

}  // namespace chimera
