#include "chimera/model/kernels.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "chimera/comm/transport.h"
#include "chimera/model/dropout_draw.h"

namespace chimera {
namespace {

// Number of elements that one task draws. Even, because two elements share a
// draw.
constexpr std::int64_t kMaskBlock = 4096;

// Fills elements begin .. end - 1 of one sample's mask; `begin` is even.
template <class T>
void fill_block(T* mask, std::int64_t begin, std::int64_t end,
                const CounterRandom& random, double rate) {
  const auto limit = static_cast<std::uint64_t>(std::llround(rate * 0x1p32));
  const T kept = static_cast<T>(1 / (1 - rate));
  std::int64_t element = begin;
  for (; element + 1 < end; element += 2) {
    const auto pair = draw_pair<T>(random, element / 2, limit, kept);
    mask[element] = pair.first;
    mask[element + 1] = pair.second;
  }
  if (element < end) {
    mask[element] = draw_pair<T>(random, element / 2, limit, kept).first;
  }
}

template <class T>
void fill_mask(const at::Tensor& mask, at::IntArrayRef streams, double rate) {
  const auto samples = static_cast<std::int64_t>(streams.size());
  const std::int64_t size = mask.numel() / samples;
  const std::int64_t blocks = (size + kMaskBlock - 1) / kMaskBlock;
  T* data = mask.mutable_data_ptr<T>();
  at::parallel_for(
      0, samples * blocks, 4, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t task = first; task < last; ++task) {
          const std::int64_t sample = task / blocks;
          const std::int64_t begin = task % blocks * kMaskBlock;
          const CounterRandom random(
              static_cast<std::uint64_t>(streams[sample]));
          fill_block(data + sample * size, begin,
                     std::min(begin + kMaskBlock, size), random, rate);
        }
      });
}

void fill_dropout_mask_cpu(const at::Tensor& mask, at::IntArrayRef streams,
                           double rate) {
  AT_DISPATCH_FLOATING_TYPES(mask.scalar_type(), "dropout",
                             [&] { fill_mask<scalar_t>(mask, streams, rate); });
}

// Adds in double over fixed blocks, in order, so that the number of threads
// does not change the bits. REQUIRES: whole grains.
template <class T>
double sum_of_squares_of(const T* numbers, std::int64_t count) {
  constexpr std::int64_t kBlock = 1 << 16;
  std::vector<double> partial((count + kBlock - 1) / kBlock);
  at::parallel_for(
      0, static_cast<std::int64_t>(partial.size()), 1,
      [&](std::int64_t first, std::int64_t end) {
        for (std::int64_t block = first; block < end; ++block) {
          const std::int64_t from = block * kBlock;
          const std::int64_t to = std::min(count, from + kBlock);
          double sums[kShardGrain] = {};  // fits one or two vector registers
          for (std::int64_t i = from; i < to; i += kShardGrain) {
            for (std::size_t lane = 0; lane < kShardGrain; ++lane) {
              const double number = numbers[i + lane];
              sums[lane] += number * number;
            }
          }
          partial[block] = std::accumulate(sums, sums + kShardGrain, 0.0);
        }
      });
  return std::accumulate(partial.begin(), partial.end(), 0.0);
}

at::Tensor sum_of_squares_cpu(const at::Tensor& numbers) {
  const double sum =
      numbers.scalar_type() == at::kDouble
          ? sum_of_squares_of(numbers.const_data_ptr<double>(), numbers.numel())
          : sum_of_squares_of(numbers.const_data_ptr<float>(), numbers.numel());
  return at::scalar_tensor(sum, at::kDouble);
}

// Calls an operator of this file by its name.
template <class Function>
auto find_operator(const char* name) {
  return c10::Dispatcher::singleton()
      .findSchemaOrThrow(name, "")
      .typed<Function>();
}

}  // namespace

TORCH_LIBRARY(chimera, library) {
  library.def(
      "fill_dropout_mask(Tensor(a!) mask, int[] streams, float rate) -> ()");
  library.def("sum_of_squares(Tensor numbers) -> Tensor");
}

TORCH_LIBRARY_IMPL(chimera, CPU, library) {
  library.impl("fill_dropout_mask", &fill_dropout_mask_cpu);
  library.impl("sum_of_squares", &sum_of_squares_cpu);
}

void fill_dropout_mask(const at::Tensor& mask,
                       const std::vector<std::int64_t>& streams, double rate) {
  static const auto kOperator =
      find_operator<void(const at::Tensor&, at::IntArrayRef, double)>(
          "chimera::fill_dropout_mask");
  kOperator.call(mask, streams, rate);
}

at::Tensor sum_of_squares(const at::Tensor& numbers) {
  static const auto kOperator =
      find_operator<at::Tensor(const at::Tensor&)>("chimera::sum_of_squares");
  return kOperator.call(numbers);
}

}  // namespace chimera
