#include "chimera/model/rotary.h"

#include <ATen/ATen.h>

#include <numbers>

namespace chimera {
namespace {

// Stretches long wavelengths by the factor, keeps short ones, and interpolates
// those between.
at::Tensor llama3_frequencies(const at::Tensor& frequencies, const Rope& rope) {
  const double context = rope.original_positions;
  const at::Tensor wavelengths = 2 * std::numbers::pi / frequencies;
  const at::Tensor is_long = wavelengths > context / rope.low_freq_factor;
  const at::Tensor is_short = wavelengths < context / rope.high_freq_factor;
  const at::Tensor share = (context / wavelengths - rope.low_freq_factor) /
                           (rope.high_freq_factor - rope.low_freq_factor);
  const at::Tensor mixed =
      (1 - share) * frequencies / rope.factor + share * frequencies;
  return at::where(is_long, frequencies / rope.factor,
                   at::where(is_short, frequencies, mixed));
}

at::Tensor frequencies_of(const LlamaShape& shape) {
  const Rope& rope = shape.rope;
  const at::Tensor exponents =
      at::arange(0, shape.head_dim, 2, at::kFloat) / double(shape.head_dim);
  at::Tensor frequencies =
      1 / at::pow(at::Scalar(rope.theta), exponents);  // (head_dim / 2)
  switch (rope.type) {
    case RopeType::kDefault:
      return frequencies;
    case RopeType::kLinear:
      return frequencies / rope.factor;
    case RopeType::kLlama3:
      return llama3_frequencies(frequencies, rope);
  }
  return frequencies;
}

// Turns every pair by 90 degrees. Element i of the first half and element i of
// the second half form a pair.
at::Tensor turned_quarter(const at::Tensor& x) {
  const std::vector<at::Tensor> halves = x.chunk(2, -1);
  return at::cat({-halves[1], halves[0]}, -1);
}

}  // namespace

RotaryTable make_rotary_table(const LlamaShape& shape, std::int64_t positions) {
  const at::Tensor angles =
      at::outer(at::arange(positions, at::kFloat), frequencies_of(shape));
  const at::Tensor both = at::cat({angles, angles}, -1);
  return {both.cos(), both.sin()};
}

RotaryTable rows_at(const RotaryTable& table, const at::Tensor& positions) {
  const auto rows = [&](const at::Tensor& all) {
    return all.index_select(0, positions.flatten())
        .view({positions.size(0), 1, positions.size(1), all.size(-1)});
  };
  return {rows(table.cos), rows(table.sin)};
}

at::Tensor rotate(const at::Tensor& x, const RotaryTable& table,
                  std::int64_t first) {
  // Rotates in float32, because bf16 would round the angles too.
  const at::ScalarType type = x.scalar_type() == at::kBFloat16
                                  ? at::ScalarType(at::kFloat)
                                  : x.scalar_type();
  const auto rows = [&](const at::Tensor& all) {
    return all.narrow(-2, first, x.size(2)).to(x.options().dtype(type));
  };
  return (x * rows(table.cos) + turned_quarter(x) * rows(table.sin))
      .to(x.scalar_type());
}

}  // namespace chimera
