#include "chimera/train/update_sequence.h"

#include <algorithm>

namespace chimera {

UpdateSequence::UpdateSequence(const RunSetup& setup, int steps)
    : setup_(setup) {
  for (const Action& action : setup.schedule.actions[0]) {
    if (action.op == Op::kU && action.micro != kNone) each_micro_ = true;
  }
  num_updates_ = each_micro_ ? steps * setup.schedule.micros : steps;
}

int UpdateSequence::number(int step, int micro) const {
  return each_micro_ ? step * setup_.schedule.micros + micro : step;
}

int UpdateSequence::step_of(int update) const {
  return each_micro_ ? update / setup_.schedule.micros : update;
}

int UpdateSequence::version(int update, int stage) const {
  if (!is_asynchronous(setup_.schedule)) return update;
  const int delay = each_micro_ ? setup_.schedule.stages() - 1 - stage : 1;
  return std::max(0, update - delay);
}

std::vector<TensorBatch> UpdateSequence::batches(int update) const {
  const int step = step_of(update);
  const BatchSource& data = *setup_.data;
  if (!each_micro_) {
    return {to_tensors(data.read(step, 0, setup_.global_batch()),
                       data.targets(step))};
  }
  const int samples = *setup_.config.schedule.micro_batch;
  const int micros = setup_.schedule.micros;
  std::vector<Batch> copies;
  TargetCount total;
  for (int copy = 0; copy < setup_.schedule.width; ++copy) {
    const std::int64_t first =
        std::int64_t{copy * micros + update % micros} * samples;
    copies.push_back(data.read(step, first, samples));
    const Batch& batch = copies.back();
    total.tokens += std::count_if(
        batch.targets.begin(), batch.targets.end(),
        [](std::int64_t target) { return target != kIgnoredTarget; });
    total.samples += static_cast<std::int64_t>(batch.next_sentence.size());
  }
  std::vector<TensorBatch> batches;
  batches.reserve(copies.size());
  for (const Batch& batch : copies) {
    batches.push_back(to_tensors(batch, total));
  }
  return batches;
}

std::vector<TensorBatch> UpdateSequence::parts(int update) const {
  const std::int64_t samples =
      *setup_.config.schedule.micro_batch / setup_.schedule.parts;
  std::vector<TensorBatch> parts;
  for (const TensorBatch& batch : batches(update)) {
    const auto count = static_cast<std::int64_t>(batch.sample_ids.size());
    for (std::int64_t first = 0; first < count; first += samples) {
      parts.push_back(slice(batch, first, samples));
    }
  }
  return parts;
}

}  // namespace chimera
