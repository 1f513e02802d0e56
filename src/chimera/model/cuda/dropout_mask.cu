#include <algorithm>
#include <cmath>

#include "chimera/model/cuda/dropout_mask.h"
#include "chimera/model/dropout_draw.h"

namespace chimera {
namespace {

constexpr int kThreads = 256;
// Samples of one launch: their streams are passed by value, and a kernel takes
// at most 4 KiB of arguments.
constexpr std::size_t kSamples = 256;

struct Streams {
  std::uint64_t states[kSamples];
};

// blockIdx.y is the sample; a thread draws pairs of its elements.
template <class T>
__global__ void dropout_mask_kernel(T* mask, std::int64_t size,
                                    const Streams streams, std::uint64_t limit,
                                    T kept) {
  const CounterRandom random(streams.states[blockIdx.y]);
  T* of_sample = mask + static_cast<std::int64_t>(blockIdx.y) * size;
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t pair = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
       2 * pair < size; pair += step) {
    const DropoutPair<T> drawn = draw_pair<T>(random, pair, limit, kept);
    of_sample[2 * pair] = drawn.first;
    if (2 * pair + 1 < size) of_sample[2 * pair + 1] = drawn.second;
  }
}

}  // namespace

template <class T>
cudaError_t launch_dropout_mask(T* mask, std::int64_t size,
                                const DropoutStreams& streams, double rate,
                                cudaStream_t stream) {
  const auto limit = static_cast<std::uint64_t>(std::llround(rate * 0x1p32));
  const T kept = static_cast<T>(1 / (1 - rate));
  const std::int64_t pairs = (size + 1) / 2;
  const std::int64_t blocks =
      std::clamp<std::int64_t>((pairs + kThreads - 1) / kThreads, 1, 1 << 16);
  for (std::size_t first = 0; first < streams.samples; first += kSamples) {
    const std::size_t count = std::min(kSamples, streams.samples - first);
    Streams states{};
    std::copy_n(streams.states + first, count, states.states);
    const dim3 grid(static_cast<unsigned>(blocks),
                    static_cast<unsigned>(count));
    dropout_mask_kernel<T><<<grid, kThreads, 0, stream>>>(
        mask + static_cast<std::int64_t>(first) * size, size, states, limit,
        kept);
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

template cudaError_t launch_dropout_mask(float*, std::int64_t,
                                         const DropoutStreams&, double,
                                         cudaStream_t);
template cudaError_t launch_dropout_mask(double*, std::int64_t,
                                         const DropoutStreams&, double,
                                         cudaStream_t);

}  // namespace chimera
