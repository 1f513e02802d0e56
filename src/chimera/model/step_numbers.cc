#include "chimera/model/step_numbers.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace chimera {
namespace {

std::vector<double> read_numbers(std::vector<at::Tensor> numbers) {
  if (numbers.empty()) return {};
  for (at::Tensor& number : numbers) number = number.to(at::kDouble);
  const at::Tensor all = at::stack(numbers).cpu();
  const auto* data = all.const_data_ptr<double>();
  return {data, data + all.numel()};
}

}  // namespace

void StepNumbers::add_loss(const at::Tensor& loss, double share) {
  losses_.push_back({loss, share});
}

void StepNumbers::check_output(const at::Tensor& output, double place) {
  output_sums_.push_back({output.sum(), place});
}

Ballot StepNumbers::read(const std::vector<at::Tensor>& squared_norms) const {
  std::vector<at::Tensor> tensors;
  for (const Number& loss : losses_) tensors.push_back(loss.value);
  for (const Number& sum : output_sums_) tensors.push_back(sum.value);
  tensors.insert(tensors.end(), squared_norms.begin(), squared_norms.end());
  const std::vector<double> values = read_numbers(std::move(tensors));
  auto value = values.begin();
  Ballot ballot;
  for (const Number& loss : losses_) ballot.loss += *value++ * loss.factor;
  for (const Number& sum : output_sums_) {
    if (std::isfinite(*value++)) continue;
    ballot.bad_at = std::min(ballot.bad_at, sum.factor);
  }
  while (value != values.end()) ballot.squared_norm += *value++;
  return ballot;
}

}  // namespace chimera
