#include "chimera/model/parameter_block.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <numeric>

#include "chimera/base/check.h"

namespace chimera {
namespace {

std::int64_t padded(std::int64_t size) {
  constexpr auto kGrain = static_cast<std::int64_t>(kShardGrain);
  return (size + kGrain - 1) / kGrain * kGrain;
}

// In double, over fixed blocks added in order: the same for any number of
// threads. REQUIRES: whole grains.
template <class T>
double sum_of_squares(const T* numbers, std::int64_t count) {
  constexpr std::int64_t kBlock = 1 << 16;
  std::vector<double> partial((count + kBlock - 1) / kBlock);
  at::parallel_for(
      0, static_cast<std::int64_t>(partial.size()), 1,
      [&](std::int64_t first, std::int64_t end) {
        for (std::int64_t block = first; block < end; ++block) {
          const std::int64_t from = block * kBlock;
          const std::int64_t to = std::min(count, from + kBlock);
          double sums[kShardGrain] = {};  // one vector register or two
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

NumberBuffer buffer_of(const at::Tensor& flat) {
  return {.data = flat.data_ptr(),
          .count = static_cast<std::size_t>(flat.numel()),
          .type = flat.scalar_type() == at::kDouble ? NumberType::kFloat64
                                                    : NumberType::kFloat32};
}

}  // namespace

ParameterBlock::ParameterBlock(std::vector<ParameterSpec> specs,
                               at::ScalarType dtype, const Sharing& sharing)
    : specs_(std::move(specs)), sharing_(sharing), offsets_(specs_.size()) {
  for (const bool decays : {true, false}) {
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      if (specs_[i].decays != decays) continue;
      offsets_[i] = size_;
      size_ += numel(specs_[i]);
    }
    size_ = padded(size_);
    if (decays) decaying_ = size_;
  }
  gradient_ = at::zeros({size_}, dtype);
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    gradient_views_.push_back(view(gradient_, i));
  }
}

at::Tensor ParameterBlock::view(const at::Tensor& flat,
                                std::size_t parameter) const {
  const ParameterSpec& spec = specs_[parameter];
  return flat.narrow(0, offsets_[parameter], numel(spec)).view(spec.shape);
}

NumberBuffer ParameterBlock::gradient_buffer() const {
  return buffer_of(gradient_);
}

NumberBuffer ParameterBlock::value_buffer(const BlockValues& values) const {
  return buffer_of(values.flat);
}

BlockValues ParameterBlock::make_values(
    const ParameterInit& init, const std::vector<at::Tensor>& owned) const {
  BlockValues values{.flat = at::zeros_like(gradient_)};
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    at::Tensor place = view(values.flat, i);
    at::Tensor leaf = owned.empty() ? at::Tensor() : owned[i];
    place.copy_(init(specs_[i]));
    if (leaf.defined()) {
      leaf.set_data(place);
    } else {
      leaf = place.detach().requires_grad_(true);
    }
    leaf.mutable_grad() = gradient_views_[i];
    values.leaves.push_back(leaf);
  }
  return values;
}

BlockValues ParameterBlock::copy_values(const BlockValues& values) const {
  BlockValues copy{.flat = values.flat.clone()};
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    copy.leaves.push_back(view(copy.flat, i).detach().requires_grad_(true));
    copy.leaves.back().mutable_grad() = gradient_views_[i];
  }
  return copy;
}

void ParameterBlock::begin_gradient() {
  if (!is_used_up_) return;
  gradient_.zero_();
  is_used_up_ = false;
}

double ParameterBlock::squared_norm() const {
  const Shard shard = shard_of(static_cast<std::size_t>(size_), sharing_.index,
                               sharing_.holders);
  const auto count = static_cast<std::int64_t>(shard.end - shard.begin);
  if (gradient_.scalar_type() == at::kDouble) {
    return sum_of_squares(gradient_.const_data_ptr<double>() + shard.begin,
                          count);
  }
  return sum_of_squares(gradient_.const_data_ptr<float>() + shard.begin, count);
}

void ParameterBlock::update(const Update& update, const BlockValues& values) {
  const at::NoGradGuard no_grad;
  const Shard mine = update.own_shard_only
                         ? shard_of(static_cast<std::size_t>(size_),
                                    sharing_.index, sharing_.holders)
                         : Shard{0, static_cast<std::size_t>(size_)};
  if (states_.empty()) {
    state_range_ = mine;
    for (int i = 0; i < update.optimizer.num_states(); ++i) {
      states_.push_back(
          at::zeros({static_cast<std::int64_t>(mine.end - mine.begin)},
                    gradient_.options()));
    }
  }
  const auto middle = static_cast<std::size_t>(decaying_);
  update_range(update, values, {mine.begin, std::min(mine.end, middle)}, true);
  update_range(update, values, {std::max(mine.begin, middle), mine.end}, false);
  ++updates_;
  is_used_up_ = true;
}

void ParameterBlock::update_range(const Update& update,
                                  const BlockValues& values, const Shard& range,
                                  bool decays) {
  if (range.begin >= range.end) return;
  const auto begin = static_cast<std::int64_t>(range.begin);
  const auto length = static_cast<std::int64_t>(range.end - range.begin);
  OptimizerSlice slice{.weights = values.flat.narrow(0, begin, length),
                       .gradient = gradient_.narrow(0, begin, length),
                       .decays = decays,
                       .step = update.step,
                       .updates = updates_};
  const auto first = static_cast<std::int64_t>(state_range_.begin);
  for (const at::Tensor& state : states_) {
    slice.states.push_back(state.narrow(0, begin - first, length));
  }
  if (update.gradient_scale != 1) slice.gradient.mul_(update.gradient_scale);
  update.optimizer.update(slice);
}

}  // namespace chimera
