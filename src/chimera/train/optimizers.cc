#include "chimera/train/optimizers.h"

#include <ATen/ATen.h>

#include "chimera/train/learning_rate.h"

namespace chimera {
namespace {

class AdamFamily final : public Optimizer {
 public:
  explicit AdamFamily(const TrainConfig& train) : train_(train) {}

  std::vector<std::string> state_names() const override {
    return {"exp_avg", "exp_avg_sq"};
  }

  void update(const OptimizerSlice& slice) const override {
    const std::vector<at::Tensor> weights = {slice.weights};
    const std::vector<at::Tensor> gradients = {slice.gradient};
    const std::vector<at::Tensor> means = {slice.states[0]};
    const std::vector<at::Tensor> squares = {slice.states[1]};
    // libtorch's kernels take the number of the update, counted from 1, as a
    // tensor.
    const std::vector<at::Tensor> counts = {
        at::full({}, static_cast<double>(slice.updates + 1),
                 slice.weights.options().dtype(at::kFloat))};
    const double rate = learning_rate(train_, slice.step);
    const auto& [beta1, beta2] = train_.betas;
    if (train_.optimizer == OptimizerKind::kAdam) {
      at::_fused_adam_(weights, gradients, means, squares, {}, counts, rate,
                       beta1, beta2, 0, train_.eps, false, false);
      return;
    }
    const bool decays = slice.decays || train_.decay_all;
    at::_fused_adamw_(weights, gradients, means, squares, {}, counts, rate,
                      beta1, beta2, decays ? train_.weight_decay : 0,
                      train_.eps, false, false);
  }

 private:
  TrainConfig train_;
};

class Sgd final : public Optimizer {
 public:
  explicit Sgd(const TrainConfig& train) : train_(train) {}

  std::vector<std::string> state_names() const override {
    if (train_.momentum == 0) return {};
    return {"momentum_buffer"};
  }

  void update(const OptimizerSlice& slice) const override {
    const std::vector<at::Tensor> weights = {slice.weights};
    const std::vector<at::Tensor> gradients = {slice.gradient};
    at::_fused_sgd_(weights, gradients, slice.states, 0, train_.momentum,
                    learning_rate(train_, slice.step), 0, false, false,
                    slice.updates == 0);
  }

 private:
  TrainConfig train_;
};

}  // namespace

std::shared_ptr<const Optimizer> make_optimizer(const TrainConfig& train) {
  if (train.optimizer == OptimizerKind::kSgd) {
    return std::make_shared<Sgd>(train);
  }
  return std::make_shared<AdamFamily>(train);
}

}  // namespace chimera
