#include "chimera/plan/forecast.h"

namespace chimera {
StagedModel staged_run(const RunConfig& config, const Profile& profile,
                       const Schedule& schedule) {
  const ModelShape shape = shape_of(config.model);
  const std::vector<int>& cut = config.schedule.cut;
  // Ignores a cut into another number of stages, which was meant for another
  // schedule.
  const bool is_cut = static_cast<int>(cut.size()) == schedule.stages();
  return staged_model(
      shape, profile,
      {.stages = schedule.stages(),
       .micro_batch = *config.schedule.micro_batch,
       .parts = schedule.parts,
       .optimizer = config.train.optimizer,
       .momentum = config.train.momentum,
       .precision = config.train.precision,
       .update_holders =
           config.train.shard_update ? schedule.pipes() * schedule.width : 1,
       .recompute = recomputation(schedule),
       .cut = is_cut ? cut : default_cut(shape, schedule.stages())});
}

std::vector<WorkerBytes> run_memory(const RunConfig& config,
                                    const Profile& profile,
                                    const Schedule& lowered) {
  return worker_bytes(
      lowered, staged_run(config, profile, lowered),
      {.recompute = bool{recomputation(lowered)},
       .shard_update = config.train.shard_update,
       .has_receive_buffers = config.run.transport == TransportKind::kMpi,
       .saves = config.run.save_every > 0});
}

std::vector<double> run_bytes(const RunConfig& config, const Profile& profile,
                              const Schedule& lowered) {
  std::vector<double> peaks;
  for (const WorkerBytes& bytes : run_memory(config, profile, lowered)) {
    peaks.push_back(bytes.total());
  }
  return peaks;
}

}  // namespace chimera
