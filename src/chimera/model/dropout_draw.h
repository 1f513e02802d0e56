// Draws the elements that a dropout drops. The CPU and GPUs share it, so both
// give the same mask. Includes nothing of torch, so that nvcc compiles it in a
// second.
#pragma once

#include <cstdint>

#include "chimera/base/counter_random.h"

namespace chimera {

// The factors of elements 2 * pair and 2 * pair + 1 of a sample.
template <class T>
struct DropoutPair {
  T first;
  T second;
};

// 32 bits decide on an element, so that a draw serves two. An element is
// dropped if they are below `limit`; else its factor is `kept`.
template <class T>
CHIMERA_HOST_DEVICE inline DropoutPair<T> draw_pair(const CounterRandom& stream,
                                                    std::uint64_t pair,
                                                    std::uint64_t limit,
                                                    T kept) {
  const std::uint64_t bits = stream.bits(pair);
  return {(bits & 0xFFFFFFFF) < limit ? T(0) : kept,
          (bits >> 32) < limit ? T(0) : kept};
}

}  // namespace chimera
