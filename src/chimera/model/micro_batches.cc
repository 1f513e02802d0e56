#include "chimera/model/micro_batches.h"

#include <algorithm>

namespace chimera {

const BatchSource& MicroBatches::source(const Work& work) const {
  return work.training ? *options_.training : *options_.evaluation;
}

std::int64_t MicroBatches::first_sample(int copy, int micro) const {
  return (std::int64_t{copy} * options_.schedule.micros + micro) *
         options_.micro_batch;
}

// The target count by which the losses of one update are divided.
TargetCount MicroBatches::targets(const Work& work) const {
  if (!work.training || !options_.mean_of_each) {
    return source(work).targets(work.step);
  }
  TargetCount count;
  for (int copy = 0; copy < options_.schedule.width; ++copy) {
    const Batch batch = source(work).read(
        work.step, first_sample(copy, work.micro), options_.micro_batch);
    count.tokens +=
        static_cast<std::int64_t>(batch.targets.size()) -
        std::count(batch.targets.begin(), batch.targets.end(), kIgnoredTarget);
    count.samples += static_cast<std::int64_t>(batch.next_sentence.size());
  }
  return count;
}

TensorBatch MicroBatches::read(const Work& work) const {
  const std::int64_t first = first_sample(options_.copy, work.micro);
  const bool is_last = work.stage + 1 == options_.schedule.stages();
  if (work.stage == 0 || is_last || source(work).has_segments()) {
    const TargetCount total = is_last ? targets(work) : TargetCount{};
    return to_tensors(source(work).read(work.step, first, options_.micro_batch),
                      total, options_.device);
  }
  TensorBatch batch;
  batch.sample_ids =
      source(work).sample_ids(work.step, first, options_.micro_batch);
  return batch;
}

double MicroBatches::share_of_step(const Work& work) const {
  const bool one_of_many = work.training && options_.mean_of_each;
  return one_of_many ? 1.0 / options_.schedule.micros : 1.0;
}

}  // namespace chimera
