#include "chimera/model/dropout.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "chimera/base/check.h"
#include "chimera/base/counter_random.h"

namespace chimera {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Number of elements that one task draws. Even, because two elements share a
// draw.
constexpr std::int64_t kBlock = 4096;

struct MaskKey : torch::CustomClassHolder {
  MaskKey(const Dropout& options, const LayerContext& context)
      : rate(options.rate),
        seed(context.seed),
        step(context.step),
        layer(context.layer),
        site(options.site),
        sample_ids(context.batch.sample_ids) {}

  [[nodiscard]] CounterRandom stream(std::int64_t sample) const {
    const auto word = [](std::int64_t number) {
      return static_cast<std::uint64_t>(number);
    };
    return {RandomUse::kDropout,
            {word(seed), word(step), word(sample_ids[sample]), word(layer),
             word(site)}};
  }

  double rate;
  std::int64_t seed, step, layer, site;
  std::vector<std::int64_t> sample_ids;
};

// Fills elements begin .. end - 1 of one sample's mask; `begin` is even. Each
// element needs 32 bits, so a 64-bit draw serves two.
template <class T>
void fill_block(T* mask, std::int64_t begin, std::int64_t end,
                const CounterRandom& random, double rate) {
  const auto limit = static_cast<std::uint64_t>(std::llround(rate * 0x1p32));
  const T kept = static_cast<T>(1 / (1 - rate));
  std::int64_t element = begin;
  for (; element + 1 < end; element += 2) {
    const std::uint64_t bits = random.bits(element / 2);
    mask[element] = (bits & 0xFFFFFFFF) < limit ? T(0) : kept;
    mask[element + 1] = (bits >> 32) < limit ? T(0) : kept;
  }
  if (element < end) {
    const std::uint64_t bits = random.bits(element / 2);
    mask[element] = (bits & 0xFFFFFFFF) < limit ? T(0) : kept;
  }
}

template <class T>
void fill_mask(const at::Tensor& mask, const MaskKey& key) {
  const auto samples = static_cast<std::int64_t>(key.sample_ids.size());
  const std::int64_t size = mask.numel() / samples;
  const std::int64_t blocks = (size + kBlock - 1) / kBlock;
  T* data = mask.mutable_data_ptr<T>();
  at::parallel_for(0, samples * blocks, 4,
                   [&](std::int64_t first, std::int64_t last) {
                     for (std::int64_t task = first; task < last; ++task) {
                       const std::int64_t sample = task / blocks;
                       const std::int64_t begin = task % blocks * kBlock;
                       fill_block(data + sample * size, begin,
                                  std::min(begin + kBlock, size),
                                  key.stream(sample), key.rate);
                     }
                   });
}

// Scales the kept elements of x by 1 / (1 - rate) and sets the others to 0.
at::Tensor masked(const at::Tensor& x, const MaskKey& key) {
  // In bf16 the scale of what is kept would be off by a quarter of a percent.
  const at::ScalarType type = x.scalar_type() == at::kBFloat16
                                  ? at::ScalarType(at::kFloat)
                                  : x.scalar_type();
  const at::Tensor mask =
      at::empty(x.sizes(), x.options().device(at::kCPU).dtype(type),
                at::MemoryFormat::Contiguous);
  AT_DISPATCH_FLOATING_TYPES(type, "dropout",
                             [&] { fill_mask<scalar_t>(mask, key); });
  return (x * mask.to(x.device())).to(x.scalar_type());
}

class CounterDropout : public torch::autograd::Function<CounterDropout> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            c10::intrusive_ptr<MaskKey> key) {
    at::Tensor y = masked(x, *key);
    context->saved_data["key"] = c10::IValue::make_capsule(std::move(key));
    return y;
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& grads) {
    const auto key = context->saved_data["key"].toCapsule();
    return {masked(grads[0], static_cast<const MaskKey&>(*key)), {}};
  }
};

}  // namespace

at::Tensor dropout(const at::Tensor& x, const Dropout& options,
                   const LayerContext& context) {
  if (options.rate == 0 || !context.training) return x;
  CHIMERA_CHECK_EQ(x.size(0),
                   static_cast<std::int64_t>(context.batch.sample_ids.size()));
  return CounterDropout::apply(x,
                               c10::make_intrusive<MaskKey>(options, context));
}

}  // namespace chimera
