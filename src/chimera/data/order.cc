// A shuffle without a table. A Feistel network permutes the smallest square
// power of two that holds all samples. A place that falls outside is permuted
// again until it falls inside (Black & Rogaway, CT-RSA 2002, "cycle walking").
// The square is at most four times too large, except for files of a few
// samples. Below 256 places the network prefers some orders to others by one
// per cent.
#include "chimera/data/order.h"

#include "chimera/base/check.h"
#include "chimera/base/counter_random.h"

namespace chimera {
namespace {

class Shuffle {
 public:
  Shuffle(std::uint64_t size, std::uint64_t seed, std::uint64_t epoch)
      : size_(size), random_(RandomUse::kSampleOrder, {seed, epoch}) {
    while (half_bits_ < 31 && (size_ - 1) >> (2 * half_bits_) != 0) {
      ++half_bits_;
    }
  }

  [[nodiscard]] std::uint64_t operator()(std::uint64_t place) const {
    do {
      place = permute(place);
    } while (place >= size_);
    return place;
  }

 private:
  [[nodiscard]] std::uint64_t permute(std::uint64_t place) const {
    constexpr std::uint64_t kRounds = 8;
    const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
    std::uint64_t left = place >> half_bits_;
    std::uint64_t right = place & mask;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      const std::uint64_t word = random_.bits(round << 32 | right);
      const std::uint64_t mixed = left ^ (word & mask);
      left = right;
      right = mixed;
    }
    return left << half_bits_ | right;
  }

  std::uint64_t size_;
  CounterRandom random_;
  unsigned half_bits_ = 4;
};

}  // namespace

Draw draw_of(std::int64_t number, const OrderOptions& options) {
  CHIMERA_CHECK(number >= 0 && options.num_samples > 0, "no such draw");
  const std::int64_t epoch = number / options.num_samples;
  const std::int64_t place = number % options.num_samples;
  if (options.order == SampleOrder::kSequential) {
    return {.number = number, .epoch = epoch, .sample = place};
  }
  const Shuffle shuffle(static_cast<std::uint64_t>(options.num_samples),
                        static_cast<std::uint64_t>(options.seed),
                        static_cast<std::uint64_t>(epoch));
  const std::uint64_t sample = shuffle(static_cast<std::uint64_t>(place));
  return {.number = number,
          .epoch = epoch,
          .sample = static_cast<std::int64_t>(sample)};
}

}  // namespace chimera
