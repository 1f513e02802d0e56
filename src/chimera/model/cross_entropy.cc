#include "chimera/model/cross_entropy.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "chimera/data/batch.h"

namespace chimera {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Rows whose float32 logits fit into a cache.
std::int64_t rows_at_once(const at::Tensor& logits) {
  constexpr std::int64_t kNumbers = 1 << 16;
  return std::max<std::int64_t>(1, kNumbers / logits.size(1));
}

// Calls visit(first row, number of rows) for each block.
template <class Visit>
void for_each_block(const at::Tensor& logits, const Visit& visit) {
  const std::int64_t rows = logits.size(0), most = rows_at_once(logits);
  for (std::int64_t first = 0; first < rows; first += most) {
    visit(first, std::min(most, rows - first));
  }
}

class CrossEntropy : public torch::autograd::Function<CrossEntropy> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& logits,
                            const at::Tensor& targets) {
    const at::Tensor counts = targets.ne(kIgnoredTarget);         // (N)
    const at::Tensor places = targets.clamp_min(0).unsqueeze(1);  // (N, 1)
    const at::Tensor picked =
        logits.gather(1, places).to(at::kFloat);  // (N, 1)
    const at::Tensor log_sums =
        at::empty_like(picked);  // log of the sum of all exponentials
    for_each_block(logits, [&](std::int64_t first, std::int64_t rows) {
      at::Tensor block = logits.narrow(0, first, rows).to(at::kFloat);
      const at::Tensor most = block.amax(1, true);  // (rows, 1)
      const at::Tensor sums = block.sub_(most).exp_().sum(1, true);
      at::Tensor of_block = log_sums.narrow(0, first, rows);
      of_block.copy_(sums.log_().add_(most));
    });
    context->save_for_backward({logits, places, counts, log_sums});
    return ((log_sums - picked).squeeze(1) * counts).sum();
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& grads) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &logits = saved[0], &places = saved[1];
    const at::Tensor weights = saved[2].unsqueeze(1) * grads[0];  // (N, 1)
    const at::Tensor& log_sums = saved[3];
    at::Tensor gradient = at::empty_like(logits);
    const at::Tensor minus_one = at::full({1, 1}, -1, at::kFloat);
    for_each_block(logits, [&](std::int64_t first, std::int64_t rows) {
      at::Tensor block = logits.narrow(0, first, rows).to(at::kFloat);
      block.sub_(log_sums.narrow(0, first, rows)).exp_();
      block.scatter_add_(1, places.narrow(0, first, rows),
                         minus_one.expand({rows, 1}));
      block.mul_(weights.narrow(0, first, rows));
      gradient.narrow(0, first, rows).copy_(block);
    });
    return {gradient, {}};
  }
};

}  // namespace

at::Tensor cross_entropy_sum(const at::Tensor& logits,
                             const at::Tensor& targets) {
  if (logits.scalar_type() == at::kBFloat16) {
    return CrossEntropy::apply(logits, targets);
  }
  return at::cross_entropy_loss(logits, targets, {}, at::Reduction::Sum,
                                kIgnoredTarget);
}

}  // namespace chimera
