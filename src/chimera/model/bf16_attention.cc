// Works on one head and one block of queries at a time, so that scores stay in
// a cache. The backward computes scores anew, transposed (a row per key): the
// statistics of a query then fill a lane, and no row has to be summed up.
//
// Notation: scores are queries times keys, p = softmax(scale * scores), output
// = p * values. As in FlashAttention (Dao et al., 2022), the forward keeps no
// p, only the logarithm of each query's sum, from which the backward finds p =
// exp(scale * score - log_sum) without the largest score or a division.
#include "chimera/model/bf16_attention.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "chimera/model/avx512.h"
#include "chimera/model/bf16_products.h"

namespace chimera {
namespace {

using at::BFloat16;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kBlock = 64;  // queries

std::int64_t rounded_up(std::int64_t number, std::int64_t unit) {
  return (number + unit - 1) / unit * unit;
}

Rows rows_of(const at::Tensor& x, std::int64_t sample, std::int64_t head) {
  return {static_cast<BFloat16*>(x.data_ptr()) + sample * x.stride(0) +
              head * x.stride(1),
          x.stride(2)};
}

struct Sizes {
  std::int64_t tokens = 0;
  std::int64_t width = 0;    // of a head
  std::int64_t sharing = 1;  // query heads that share a key head
  bool causal = false;
  float scale = 1;

  // The number of keys that queries before `end` may see.
  [[nodiscard]] std::int64_t keys(std::int64_t end) const {
    return causal ? end : tokens;
  }
};

Sizes sizes_of(const at::Tensor& query, const at::Tensor& key, bool causal) {
  return {.tokens = query.size(2),
          .width = query.size(3),
          .sharing = query.size(1) / key.size(1),
          .causal = causal,
          .scale = 1 / std::sqrt(static_cast<float>(query.size(3)))};
}

// Turns `count` scores into unnormalised probabilities and zeroes the rest up
// to `padded`. Returns their sum and the largest score.
struct RowStatistics {
  float most = 0;
  float sum = 0;
};
CHIMERA_AVX512 RowStatistics softmax_row(const float* scores,
                                         std::int64_t count,
                                         std::int64_t padded, float scale,
                                         BFloat16* probabilities) {
  const __m512 lowest = _mm512_set1_ps(std::numeric_limits<float>::lowest());
  __m512 most = lowest;
  for (std::int64_t i = 0; i < count; i += kLanes) {
    most = _mm512_max_ps(
        most, _mm512_mask_loadu_ps(lowest, first_lanes(count - i), scores + i));
  }
  const float top = scale * _mm512_reduce_max_ps(most);
  __m512 sum = _mm512_setzero_ps();
  for (std::int64_t i = 0; i < padded; i += kLanes) {
    const __mmask16 lanes = first_lanes(count - i);
    const __m512 score = _mm512_maskz_loadu_ps(lanes, scores + i);
    const __m512 power = _mm512_maskz_mov_ps(
        lanes, exp_of(_mm512_fmsub_ps(score, _mm512_set1_ps(scale),
                                      _mm512_set1_ps(top))));
    sum = _mm512_add_ps(sum, power);
    store_bf16(probabilities + i, power);
  }
  return {top, _mm512_reduce_add_ps(sum)};
}

CHIMERA_AVX512 void store_row(const float* from, float factor,
                              std::int64_t width, BFloat16* to) {
  for (std::int64_t i = 0; i < width; i += kLanes) {
    store_bf16(to + i, _mm512_mul_ps(_mm512_loadu_ps(from + i),
                                     _mm512_set1_ps(factor)));
  }
}

class ForwardHeads {
 public:
  explicit ForwardHeads(const Sizes& sizes)
      : sizes_(sizes),
        padded_(rounded_up(sizes.tokens, kLanes)),
        keys_(padded_ * sizes.width / 2),
        values_(padded_ * sizes.width / 2),
        scores_(kBlock * padded_),
        probabilities_(kBlock * padded_),
        mixed_(kBlock * sizes.width) {}

  void load(const Rows& keys, const Rows& values) {
    pack_columns(keys, {sizes_.tokens, padded_, sizes_.width}, keys_.data());
    pack_rows(values, {sizes_.tokens, padded_, sizes_.width}, values_.data());
  }

  // Computes one query head and stores the logarithm of each token's sum in
  // log_sums.
  void run(const Rows& queries, const Rows& output, float* log_sums) {
    for (std::int64_t first = 0; first < sizes_.tokens; first += kBlock) {
      run_block(queries, output, log_sums, first);
    }
  }

 private:
  void run_block(const Rows& queries, const Rows& output, float* log_sums,
                 std::int64_t first) {
    const std::int64_t rows = std::min(kBlock, sizes_.tokens - first);
    // Keys that no query of the block sees are left out: with a causal mask
    // that about halves the work.
    const std::int64_t keys = rounded_up(sizes_.keys(first + rows), kLanes);
    multiplier_.multiply(
        {rows, keys, sizes_.width, queries.stride, padded_, padded_},
        queries.row(first), keys_.data(), scores_.data());
    float sums[kBlock];
    for (std::int64_t row = 0; row < rows; ++row) {
      const RowStatistics found =
          softmax_row(&scores_[row * padded_], sizes_.keys(first + row + 1),
                      keys, sizes_.scale, &probabilities_[row * padded_]);
      sums[row] = found.sum;
      log_sums[first + row] = found.most + std::log(found.sum);
    }
    multiplier_.multiply(
        {rows, sizes_.width, keys, padded_, sizes_.width, sizes_.width},
        probabilities_.data(), values_.data(), mixed_.data());
    for (std::int64_t row = 0; row < rows; ++row) {
      // Dividing the output by the sum, and not each probability, saves a pass
      // over them.
      store_row(&mixed_[row * sizes_.width], 1 / sums[row], sizes_.width,
                output.row(first + row));
    }
  }

  Multiplier multiplier_;
  Sizes sizes_;
  std::int64_t padded_;  // token count, rounded up to whole registers
  std::vector<std::uint32_t> keys_, values_;
  std::vector<float> scores_;
  std::vector<BFloat16> probabilities_;
  std::vector<float> mixed_;
};

// The arrays that the backward of a query head reads and writes.
struct HeadGradients {
  Rows queries, output, output_grad, query_grad;
  const float* log_sums = nullptr;  // [token]
};

class BackwardHeads {
 public:
  explicit BackwardHeads(const Sizes& sizes)
      : sizes_(sizes),
        padded_(rounded_up(sizes.tokens, kLanes)),
        turned_keys_(padded_ * sizes.width),
        block_columns_(kBlock * sizes.width / 2),
        grad_columns_(kBlock * sizes.width / 2),
        block_rows_(kBlock * sizes.width / 2),
        grad_rows_(kBlock * sizes.width / 2),
        scores_(padded_ * kBlock),
        changes_(padded_ * kBlock),
        probabilities_(padded_ * kBlock),
        score_grads_(padded_ * kBlock),
        packed_score_grads_(padded_ * kBlock / 2),
        query_grads_(sizes.width * kBlock),
        key_grads_(padded_ * sizes.width),
        value_grads_(padded_ * sizes.width) {}

  void load(const Rows& keys, const Rows& values) {
    keys_ = keys;
    values_ = values;
    transpose(keys, {sizes_.tokens, padded_, sizes_.width},
              turned_keys_.data());
    std::fill(key_grads_.begin(), key_grads_.end(), 0.0F);
    std::fill(value_grads_.begin(), value_grads_.end(), 0.0F);
  }

  void run(const HeadGradients& head) {
    for (std::int64_t first = 0; first < sizes_.tokens; first += kBlock) {
      run_block(head, first);
    }
  }

  void store(const Rows& key_grads, const Rows& value_grads) const {
    for (std::int64_t token = 0; token < sizes_.tokens; ++token) {
      const std::int64_t place = token * sizes_.width;
      store_row(&key_grads_[place], 1, sizes_.width, key_grads.row(token));
      store_row(&value_grads_[place], 1, sizes_.width, value_grads.row(token));
    }
  }

 private:
  void run_block(const HeadGradients& head, std::int64_t first) {
    const std::int64_t rows = std::min(kBlock, sizes_.tokens - first);
    const std::int64_t keys = sizes_.keys(first + rows);
    const std::int64_t width = sizes_.width;
    const Rows queries{head.queries.row(first), head.queries.stride};
    const Rows grads{head.output_grad.row(first), head.output_grad.stride};
    const RowSizes block{rows, kBlock, width};
    // The last block may have fewer rows: packing pads with zeros, so that the
    // products below always have kBlock queries.
    pack_columns(queries, block, block_columns_.data());
    pack_columns(grads, block, grad_columns_.data());
    pack_rows(queries, block, block_rows_.data());
    pack_rows(grads, block, grad_rows_.data());
    multiplier_.multiply({keys, kBlock, width, keys_.stride, kBlock, kBlock},
                         keys_.data, block_columns_.data(), scores_.data());
    multiplier_.multiply({keys, kBlock, width, values_.stride, kBlock, kBlock},
                         values_.data, grad_columns_.data(), changes_.data());
    note_queries(head, first, rows);
    find_score_grads(first, rows, keys);
    multiplier_.multiply({keys, width, kBlock, kBlock, width, width, true},
                         probabilities_.data(), grad_rows_.data(),
                         value_grads_.data());
    multiplier_.multiply({keys, width, kBlock, kBlock, width, width, true},
                         score_grads_.data(), block_rows_.data(),
                         key_grads_.data());
    // The gradient of keys and values is added up over all blocks and over all
    // query heads that share them. A block of query gradients is complete after
    // one product.
    multiplier_.multiply(
        {width, kBlock, rounded_up(keys, 2), padded_, kBlock, kBlock},
        turned_keys_.data(), packed_score_grads_.data(), query_grads_.data());
    store_query_grads(head, first, rows);
  }

  // Stores, for each query, the logarithm of its sum and the product of its
  // output with the output's gradient.
  CHIMERA_AVX512 void note_queries(const HeadGradients& head,
                                   std::int64_t first, std::int64_t rows) {
    for (std::int64_t row = 0; row < rows; ++row) {
      __m512 sum = _mm512_setzero_ps();
      for (std::int64_t i = 0; i < sizes_.width; i += kLanes) {
        sum = _mm512_fmadd_ps(load_bf16(head.output.row(first + row) + i),
                              load_bf16(head.output_grad.row(first + row) + i),
                              sum);
      }
      deltas_[row] = _mm512_reduce_add_ps(sum);
      log_sums_[row] = head.log_sums[first + row];
    }
  }

  // Computes the probabilities and the gradients of the scores, by key and
  // query, from the scores and the gradients of the probabilities.
  CHIMERA_AVX512 void find_score_grads(std::int64_t first, std::int64_t rows,
                                       std::int64_t keys) {
    for (std::int64_t key = 0; key < rounded_up(keys, 2); ++key) {
      for (std::int64_t row = 0; row < kBlock; row += kLanes) {
        const std::int64_t place = key * kBlock + row;
        // Queries that see the key: all, or those from `key` on.
        __mmask16 sees = key < keys ? first_lanes(rows - row) : 0;
        if (sizes_.causal) {
          sees = _kandn_mask16(first_lanes(key - first - row), sees);
        }
        const __m512 p = _mm512_maskz_mov_ps(
            sees, exp_of(_mm512_fmsub_ps(_mm512_loadu_ps(&scores_[place]),
                                         _mm512_set1_ps(sizes_.scale),
                                         _mm512_loadu_ps(log_sums_ + row))));
        // The gradient of a softmax: p times (the gradient of p minus its mean
        // weighted by p). That mean is the output times its gradient, found
        // once per query by note_queries.
        const __m512 change = _mm512_sub_ps(_mm512_loadu_ps(&changes_[place]),
                                            _mm512_loadu_ps(deltas_ + row));
        const __m512 grad = _mm512_maskz_mul_ps(
            sees, _mm512_mul_ps(p, _mm512_set1_ps(sizes_.scale)), change);
        store_bf16(&probabilities_[place], p);
        store_bf16(&score_grads_[place], grad);
        pack_score_grads(key, row, rounded(grad));
      }
    }
  }

  CHIMERA_AVX512 void pack_score_grads(std::int64_t key, std::int64_t row,
                                       __m256i grads) {
    std::uint32_t* to = &packed_score_grads_[key / 2 * kBlock + row];
    const __m512i words = _mm512_cvtepu16_epi32(grads);
    _mm512_storeu_si512(
        to, key % 2 == 0 ? words
                         : _mm512_or_si512(_mm512_loadu_si512(to),
                                           _mm512_slli_epi32(words, 16)));
  }

  // The gradients are transposed: a row per column of the head.
  CHIMERA_AVX512 void store_query_grads(const HeadGradients& head,
                                        std::int64_t first,
                                        std::int64_t rows) const {
    const __m512i columns = _mm512_mullo_epi32(
        _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
        _mm512_set1_epi32(static_cast<int>(kBlock)));
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t i = 0; i < sizes_.width; i += kLanes) {
        store_bf16(
            head.query_grad.row(first + row) + i,
            _mm512_i32gather_ps(columns, &query_grads_[i * kBlock + row], 4));
      }
    }
  }

  Multiplier multiplier_;
  Sizes sizes_;
  std::int64_t padded_;
  Rows keys_, values_;
  std::vector<BFloat16> turned_keys_;  // (width, padded)
  std::vector<std::uint32_t> block_columns_, grad_columns_;
  std::vector<std::uint32_t> block_rows_, grad_rows_;
  std::vector<float> scores_, changes_;  // (keys, kBlock)
  std::vector<BFloat16> probabilities_, score_grads_;
  std::vector<std::uint32_t> packed_score_grads_;
  std::vector<float> query_grads_;              // (width, kBlock)
  std::vector<float> key_grads_, value_grads_;  // (tokens, width)
  float deltas_[kBlock] = {};
  float log_sums_[kBlock] = {};
};

// (B, H, T, D), laid out as (B, T, H, D).
at::Tensor empty_heads(const at::Tensor& like) {
  return at::empty({like.size(0), like.size(2), like.size(1), like.size(3)},
                   like.options())
      .transpose(1, 2);
}

// Calls visit(sample, key head) for each pair; a thread handles whole heads.
template <class Heads, class Visit>
void for_each_key_head(const at::Tensor& key, const Sizes& sizes,
                       const Visit& visit) {
  const std::int64_t heads = key.size(1);
  at::parallel_for(0, key.size(0) * heads, 1,
                   [&](std::int64_t begin, std::int64_t end) {
                     Heads work(sizes);
                     for (std::int64_t task = begin; task < end; ++task) {
                       visit(work, task / heads, task % heads);
                     }
                   });
}

class Bf16Attention : public torch::autograd::Function<Bf16Attention> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& query,
                            const at::Tensor& key, const at::Tensor& value,
                            bool causal) {
    const Sizes sizes = sizes_of(query, key, causal);
    at::Tensor output = empty_heads(query);
    const at::Tensor log_sums =
        at::empty({query.size(0), query.size(1), sizes.tokens},
                  query.options().dtype(at::kFloat));
    for_each_key_head<ForwardHeads>(
        key, sizes,
        [&](ForwardHeads& work, std::int64_t sample, std::int64_t head) {
          work.load(rows_of(key, sample, head), rows_of(value, sample, head));
          for (std::int64_t q = head * sizes.sharing;
               q < (head + 1) * sizes.sharing; ++q) {
            work.run(rows_of(query, sample, q), rows_of(output, sample, q),
                     log_sums.data_ptr<float>() +
                         (sample * query.size(1) + q) * sizes.tokens);
          }
        });
    context->save_for_backward({query, key, value, output, log_sums});
    context->saved_data["causal"] = causal;
    return output;
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& grads) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &query = saved[0], &key = saved[1], &value = saved[2];
    const at::Tensor &output = saved[3], &log_sums = saved[4];
    const at::Tensor output_grad =
        is_readable(grads[0]) ? grads[0] : grads[0].contiguous();
    const Sizes sizes =
        sizes_of(query, key, context->saved_data["causal"].toBool());
    at::Tensor query_grad = empty_heads(query), key_grad = empty_heads(key);
    at::Tensor value_grad = empty_heads(value);
    for_each_key_head<BackwardHeads>(
        key, sizes,
        [&](BackwardHeads& work, std::int64_t sample, std::int64_t head) {
          work.load(rows_of(key, sample, head), rows_of(value, sample, head));
          for (std::int64_t q = head * sizes.sharing;
               q < (head + 1) * sizes.sharing; ++q) {
            work.run({.queries = rows_of(query, sample, q),
                      .output = rows_of(output, sample, q),
                      .output_grad = rows_of(output_grad, sample, q),
                      .query_grad = rows_of(query_grad, sample, q),
                      .log_sums = log_sums.const_data_ptr<float>() +
                                  (sample * query.size(1) + q) * sizes.tokens});
          }
          work.store(rows_of(key_grad, sample, head),
                     rows_of(value_grad, sample, head));
        });
    return {query_grad, key_grad, value_grad, {}};
  }

  // True if rows consist of whole pairs and the numbers of a row are
  // contiguous.
  static bool is_readable(const at::Tensor& x) {
    return x.stride(3) == 1 && x.stride(2) % 2 == 0;
  }
};

}  // namespace

bool can_use_bf16_attention(const Projections& by_head) {
  static const bool kHasProducts = has_bf16_products();
  const at::Tensor& query = by_head.query;
  const auto is_readable = [](const at::Tensor& x) {
    return x.is_cpu() && x.scalar_type() == at::kBFloat16 &&
           Bf16Attention::is_readable(x);
  };
  return kHasProducts && is_readable(query) && is_readable(by_head.key) &&
         is_readable(by_head.value) && query.size(3) % kLanes == 0 &&
         query.size(2) == by_head.key.size(2);
}

at::Tensor bf16_attention(const Projections& by_head, bool causal) {
  return Bf16Attention::apply(by_head.query, by_head.key, by_head.value,
                              causal);
}

}  // namespace chimera
