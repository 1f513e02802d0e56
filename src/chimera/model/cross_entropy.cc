#include "chimera/model/cross_entropy.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "chimera/data/batch.h"
#include "chimera/model/avx512.h"
#include "chimera/model/bf16_products.h"

namespace chimera {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The logarithm of the sum of the exponentials of a row.
CHIMERA_AVX512 float log_sum(const at::BFloat16* row, std::int64_t count) {
  const __m512 lowest = _mm512_set1_ps(std::numeric_limits<float>::lowest());
  __m512 highest = lowest;
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const __mmask16 lanes = first_lanes(count - i);
    highest =
        _mm512_mask_max_ps(highest, lanes, highest, load_bf16(row + i, lanes));
  }
  const float most = _mm512_reduce_max_ps(highest);
  __m512 sum = _mm512_setzero_ps();
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const __mmask16 lanes = first_lanes(count - i);
    const __m512 power =
        exp_of(_mm512_sub_ps(load_bf16(row + i, lanes), _mm512_set1_ps(most)));
    sum = _mm512_mask_add_ps(sum, lanes, sum, power);
  }
  return most + std::log(_mm512_reduce_add_ps(sum));
}

// The gradient of a row: its probabilities times the weight.
CHIMERA_AVX512 void weighted_softmax(const at::BFloat16* row,
                                     std::int64_t count, float log_sum,
                                     float weight, at::BFloat16* to) {
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const __mmask16 lanes = first_lanes(count - i);
    const __m512 power = exp_of(
        _mm512_sub_ps(load_bf16(row + i, lanes), _mm512_set1_ps(log_sum)));
    store_bf16(to + i, _mm512_mul_ps(power, _mm512_set1_ps(weight)), lanes);
  }
}

// True if the AVX-512 kernels above can process these logits.
bool has_kernels(const at::Tensor& logits) {
  static const bool kHasProducts = has_bf16_products();
  return kHasProducts && logits.is_cpu() && logits.is_contiguous();
}

// log_sums: (N, 1)
void fill_log_sums_by_rows(const at::Tensor& logits,
                           const at::Tensor& log_sums) {
  const std::int64_t classes = logits.size(1);
  const auto* rows = logits.const_data_ptr<at::BFloat16>();
  auto* sums = log_sums.mutable_data_ptr<float>();
  at::parallel_for(0, logits.size(0), 1,
                   [&](std::int64_t first, std::int64_t end) {
                     for (std::int64_t row = first; row < end; ++row) {
                       sums[row] = log_sum(rows + row * classes, classes);
                     }
                   });
}

// Tensors saved for the backward.
struct Saved {
  at::Tensor logits;    // (N, classes)
  at::Tensor places;    // (N, 1): targets; 0 where ignored
  at::Tensor weights;   // (N, 1)
  at::Tensor log_sums;  // (N, 1)
};

void fill_gradient_by_rows(const Saved& saved, const at::Tensor& gradient) {
  const at::Tensor& logits = saved.logits;
  const std::int64_t classes = logits.size(1);
  const auto* rows = logits.const_data_ptr<at::BFloat16>();
  const auto* sums = saved.log_sums.const_data_ptr<float>();
  const auto* targets = saved.places.const_data_ptr<std::int64_t>();
  const auto* factors = saved.weights.const_data_ptr<float>();
  auto* to = gradient.mutable_data_ptr<at::BFloat16>();
  at::parallel_for(
      0, logits.size(0), 1, [&](std::int64_t first, std::int64_t end) {
        for (std::int64_t row = first; row < end; ++row) {
          const at::BFloat16* from = rows + row * classes;
          at::BFloat16* grads = to + row * classes;
          weighted_softmax(from, classes, sums[row], factors[row], grads);
          const std::int64_t target = targets[row];
          const float p = std::exp(float(from[target]) - sums[row]);
          grads[target] = at::BFloat16((p - 1) * factors[row]);
        }
      });
}

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

void fill_log_sums_by_blocks(const at::Tensor& logits,
                             const at::Tensor& log_sums) {
  for_each_block(logits, [&](std::int64_t first, std::int64_t rows) {
    at::Tensor block = logits.narrow(0, first, rows).to(at::kFloat);
    const at::Tensor most = block.amax(1, true);  // (rows, 1)
    const at::Tensor sums = block.sub_(most).exp_().sum(1, true);
    at::Tensor of_block = log_sums.narrow(0, first, rows);
    of_block.copy_(sums.log_().add_(most));
  });
}

void fill_gradient_by_blocks(const Saved& saved, const at::Tensor& gradient) {
  const at::Tensor minus_one = at::full({1, 1}, -1, saved.log_sums.options());
  for_each_block(saved.logits, [&](std::int64_t first, std::int64_t rows) {
    at::Tensor block = saved.logits.narrow(0, first, rows).to(at::kFloat);
    block.sub_(saved.log_sums.narrow(0, first, rows)).exp_();
    block.scatter_add_(1, saved.places.narrow(0, first, rows),
                       minus_one.expand({rows, 1}));
    block.mul_(saved.weights.narrow(0, first, rows));
    gradient.narrow(0, first, rows).copy_(block);
  });
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
    const auto fill =
        has_kernels(logits) ? fill_log_sums_by_rows : fill_log_sums_by_blocks;
    fill(logits, log_sums);
    context->save_for_backward({logits, places, counts, log_sums});
    return ((log_sums - picked).squeeze(1) * counts).sum();
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& grads) {
    const variable_list kept = context->get_saved_variables();
    const Saved saved{.logits = kept[0],
                      .places = kept[1],
                      .weights = kept[2].unsqueeze(1) * grads[0],
                      .log_sums = kept[3]};
    at::Tensor gradient = at::empty_like(saved.logits);
    const auto fill = has_kernels(saved.logits) ? fill_gradient_by_rows
                                                : fill_gradient_by_blocks;
    fill(saved, gradient);
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
