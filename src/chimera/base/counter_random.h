// Random numbers without state: each number is a function of its purpose (seed,
// step, sample, layer, ...) and of nothing else. A recomputation therefore
// draws the same dropout mask, and every worker of every layout draws the same
// sample order and initial weights. GPUs compile the same functions (nvcc), so
// they draw the same bits.
#pragma once

#include <cstdint>
#include <initializer_list>

#ifdef __CUDACC__
#define CHIMERA_HOST_DEVICE __host__ __device__
#else
#define CHIMERA_HOST_DEVICE
#endif

namespace chimera {

// What the numbers are for: the first word of every key, so that two purposes
// never share a stream.
enum class RandomUse : std::uint64_t {
  kInitialWeights = 1,
  kDropout = 2,
  kSampleOrder = 3,
  kSentencePairs = 4,
  kMasking = 5,
  kPlanning = 6,
  kJitter = 7,
  kTokenChoice = 8,
};

// The stream of one key, by SplitMix64 (Steele, Lea & Flood, OOPSLA 2014):
// output n is computed without outputs 0 to n - 1.
class CounterRandom {
 public:
  CounterRandom(RandomUse use, std::initializer_list<std::uint64_t> key)
      : state_(mix(static_cast<std::uint64_t>(use))) {
    for (const std::uint64_t word : key) state_ = mix(state_ * kGamma ^ word);
  }

  // A stream is its state: 64 bits, which can be passed to a device.
  CHIMERA_HOST_DEVICE explicit CounterRandom(std::uint64_t state)
      : state_(state) {}
  [[nodiscard]] std::uint64_t state() const { return state_; }

  // 64 random bits for `element`.
  [[nodiscard]] CHIMERA_HOST_DEVICE std::uint64_t bits(
      std::uint64_t element) const {
    return mix(state_ + element * kGamma);
  }
  // A number in [0, 1), a multiple of 2^-53.
  [[nodiscard]] double uniform(std::uint64_t element) const {
    return static_cast<double>(bits(element) >> 11) * 0x1p-53;
  }
  // A number in [0, limit), with a bias below 2^-32. REQUIRES: 0 < limit <
  // 2^32.
  [[nodiscard]] std::uint64_t below(std::uint64_t element,
                                    std::uint64_t limit) const {
    return ((bits(element) >> 32) * limit) >> 32;
  }

 private:
  static constexpr std::uint64_t kGamma = 0x9E3779B97F4A7C15;

  CHIMERA_HOST_DEVICE static constexpr std::uint64_t mix(std::uint64_t word) {
    word += kGamma;
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB;
    return word ^ (word >> 31);
  }

  std::uint64_t state_;
};

}  // namespace chimera
