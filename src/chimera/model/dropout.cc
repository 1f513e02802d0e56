#include "chimera/model/dropout.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <utility>
#include <vector>

#include "chimera/base/check.h"
#include "chimera/base/counter_random.h"
#include "chimera/model/kernels.h"

namespace chimera {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Returns the random stream of each sample.
std::vector<std::int64_t> streams_of(const Dropout& options,
                                     const LayerContext& context) {
  const auto word = [](std::int64_t number) {
    return static_cast<std::uint64_t>(number);
  };
  std::vector<std::int64_t> streams;
  for (const std::int64_t sample : context.batch.sample_ids) {
    const CounterRandom random(
        RandomUse::kDropout,
        {word(context.seed), word(context.step), word(sample),
         word(context.layer), word(options.site)});
    streams.push_back(static_cast<std::int64_t>(random.state()));
  }
  return streams;
}

// Draws a mask again in the backward.
struct MaskKey : torch::CustomClassHolder {
  MaskKey(const Dropout& options, const LayerContext& context)
      : rate(options.rate), streams(streams_of(options, context)) {}

  double rate;
  std::vector<std::int64_t> streams;  // [sample]
};

// Scales the kept elements of x by 1 / (1 - rate) and sets the others to 0.
at::Tensor masked(const at::Tensor& x, const MaskKey& key) {
  // Uses a float32 mask in bf16 runs: a bf16 factor of the kept elements would
  // be off by a quarter of a percent.
  const at::ScalarType type = x.scalar_type() == at::kBFloat16
                                  ? at::ScalarType(at::kFloat)
                                  : x.scalar_type();
  const at::Tensor mask = at::empty(x.sizes(), x.options().dtype(type),
                                    at::MemoryFormat::Contiguous);
  fill_dropout_mask(mask, key.streams, key.rate);
  return (x * mask).to(x.scalar_type());
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
