#include "chimera/model/initial_weights.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>

#include <cmath>
#include <numbers>
#include <string_view>

#include "chimera/base/check.h"
#include "chimera/base/counter_random.h"

namespace chimera {
namespace {

// FNV-1a, 64 bits.
std::uint64_t hash(std::string_view text) {
  std::uint64_t value = 0xCBF29CE484222325;
  for (const char letter : text) {
    value = (value ^ static_cast<unsigned char>(letter)) * 0x100000001B3;
  }
  return value;
}

// Box-Muller: turns two uniform numbers into two normal ones.
template <class T>
void fill_pair(T* data, std::int64_t pair, std::int64_t size, double std,
               const CounterRandom& random) {
  const double radius =
      std * std::sqrt(-2 * std::log(1 - random.uniform(2 * pair)));
  const double angle = 2 * std::numbers::pi * random.uniform(2 * pair + 1);
  data[2 * pair] = static_cast<T>(radius * std::cos(angle));
  if (2 * pair + 1 < size) {
    data[2 * pair + 1] = static_cast<T>(radius * std::sin(angle));
  }
}

at::Tensor normal(const ParameterSpec& spec, std::int64_t seed,
                  at::ScalarType dtype) {
  const CounterRandom random(
      RandomUse::kInitialWeights,
      {static_cast<std::uint64_t>(seed), hash(spec.name)});
  at::Tensor values = at::empty(spec.shape, dtype);
  const std::int64_t size = values.numel();
  AT_DISPATCH_FLOATING_TYPES(dtype, "init_parameter", [&] {
    auto* data = values.mutable_data_ptr<scalar_t>();
    at::parallel_for(0, (size + 1) / 2, 4096,
                     [&](std::int64_t first, std::int64_t last) {
                       for (std::int64_t pair = first; pair < last; ++pair) {
                         fill_pair(data, pair, size, spec.std, random);
                       }
                     });
  });
  return values;
}

}  // namespace

at::Tensor init_parameter(const ParameterSpec& spec, std::int64_t seed,
                          at::ScalarType dtype) {
  CHIMERA_CHECK(spec.init != Init::kOwn, spec.name + " has values already");
  if (spec.init == Init::kZeros) return at::zeros(spec.shape, dtype);
  if (spec.init == Init::kOnes) return at::ones(spec.shape, dtype);
  return normal(spec, seed, dtype);
}

}  // namespace chimera
