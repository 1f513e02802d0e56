#include "chimera/train/evaluate.h"

#include <algorithm>
#include <chrono>
#include <functional>

namespace chimera {
namespace {

void for_each_batch(const BatchSource& source, std::int64_t batch,
                    const std::function<void(const Batch&)>& use) {
  const std::int64_t samples = source.num_samples();
  for (std::int64_t step = 0; step * batch < samples; ++step) {
    use(source.read(step, 0, std::min(batch, samples - step * batch)));
  }
}

// The number of targets, by which the sum of all losses is divided.
TargetCount count_targets(const BatchSource& source, std::int64_t batch) {
  TargetCount total;
  for_each_batch(source, batch, [&](const Batch& part) {
    total.samples += part.samples;
    total.tokens += std::count_if(
        part.targets.begin(), part.targets.end(),
        [](std::int64_t target) { return target != kIgnoredTarget; });
  });
  return total;
}

}  // namespace

Evaluation evaluate(
    const WholeModel& model, const BatchSource& source, std::int64_t batch,
    const std::function<void(std::int64_t tokens, double seconds)>& on_batch) {
  const TargetCount total = count_targets(source, batch);
  const auto start = std::chrono::steady_clock::now();
  Evaluation evaluation{.samples = total.samples};
  for_each_batch(source, batch, [&](const Batch& part) {
    evaluation.loss += model.loss(to_tensors(part, total));
    evaluation.tokens += static_cast<std::int64_t>(part.inputs.size());
    evaluation.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
    if (on_batch) on_batch(evaluation.tokens, evaluation.seconds);
  });
  return evaluation;
}

}  // namespace chimera
