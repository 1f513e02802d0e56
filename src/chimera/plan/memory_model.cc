#include "chimera/plan/memory_model.h"

#include <algorithm>
#include <set>

#include "chimera/schedule/micro_index.h"
#include "chimera/schedule/scheme.h"

namespace chimera {
namespace {

class MemoryModel {
 public:
  MemoryModel(const Schedule& schedule, const StagedModel& model,
              const MemoryOptions& options)
      : schedule_(schedule),
        model_(model),
        options_(options),
        index_(schedule),
        parts_left_(index_.cells(), schedule.parts) {}

  std::vector<WorkerBytes> run() {
    std::vector<WorkerBytes> workers(schedule_.workers());
    std::vector<std::set<int>> stages(schedule_.workers());
    for (int pipe = 0; pipe < schedule_.pipes(); ++pipe) {
      for (int stage = 0; stage < schedule_.stages(); ++stage) {
        const int worker = schedule_.placement.worker(pipe, stage);
        stages[worker].insert(stage);
        workers[worker].boundary += receive_bytes(pipe, stage);
      }
    }
    for (int worker = 0; worker < schedule_.workers(); ++worker) {
      for (const int stage : stages[worker]) {
        add_stage(stage, workers[worker]);
      }
      workers[worker].activations = peak_activations(worker);
    }
    return workers;
  }

 private:
  void add_stage(int stage, WorkerBytes& bytes) const {
    const StageCosts& cost = model_.costs.stages[stage];
    bytes.weights += cost.weight_bytes * versions(stage);
    bytes.gradients += cost.gradient_bytes;
    bytes.optimizer +=
        cost.optimizer_bytes / (options_.shard_update ? holders(stage) : 1);
    bytes.workspace = std::max(bytes.workspace, model_.workspace_bytes[stage]);
  }

  // Of the weights: one for each update that a forward in flight may be
  // behind.
  [[nodiscard]] int versions(int stage) const {
    if (!is_asynchronous(schedule_)) return 1;
    return schedule_.scheme == "pipedream" ? schedule_.stages() - stage : 2;
  }

  [[nodiscard]] double holders(int stage) const {
    std::set<int> workers;
    for (int pipe = 0; pipe < schedule_.pipes(); ++pipe) {
      workers.insert(schedule_.placement.worker(pipe, stage));
    }
    return static_cast<double>(workers.size()) * schedule_.width;
  }

  // One buffer for each direction in which another worker sends.
  [[nodiscard]] double receive_bytes(int pipe, int stage) const {
    const auto from = [&](int neighbour, int lower) {
      const bool other = schedule_.placement.worker(pipe, neighbour) !=
                         schedule_.placement.worker(pipe, stage);
      return other ? model_.costs.stages[lower].boundary_bytes : 0;
    };
    double bytes = 0;
    if (stage > 0) bytes += from(stage - 1, stage - 1);
    if (stage + 1 < schedule_.stages()) bytes += from(stage + 1, stage);
    return bytes;
  }

  [[nodiscard]] double activation(int stage) const {
    return model_.costs.stages[stage].activation_bytes;
  }
  // What stays from F to the backward.
  [[nodiscard]] double kept(int stage) const {
    if (!options_.recompute) return activation(stage);
    return stage == 0 ? 0 : model_.costs.stages[stage - 1].boundary_bytes;
  }

  double peak_activations(int worker) {
    const ActionList& list = schedule_.actions[worker];
    double held = in_flight(list);
    double peak = held;
    for (const Action& action : list) {
      if (action.op == Op::kF) held += kept(action.stage);
      if (options_.recompute && gives_gradient(action.op) && action.part == 0) {
        held += activation(action.stage);
      }
      peak = std::max(peak, held);
      if (!gives_weight_gradient(action.op)) continue;
      if (--parts_left_[index_.cell(action.stage, action.micro)] > 0) continue;
      held -= kept(action.stage);
      if (options_.recompute) held -= activation(action.stage);
    }
    return peak;
  }

  // From earlier steps: one for every step by which the end of a micro-batch
  // lags behind its beginning.
  [[nodiscard]] double in_flight(const ActionList& list) const {
    double held = 0;
    for (const Action& action : list) {
      if (action.op == Op::kF) held += action.step * kept(action.stage);
      if (gives_weight_gradient(action.op) &&
          action.part + 1 == schedule_.parts) {
        held -= action.step * kept(action.stage);
      }
    }
    return held;
  }

  const Schedule& schedule_;
  const StagedModel& model_;
  const MemoryOptions& options_;
  MicroIndex index_;
  std::vector<int> parts_left_;
};

}  // namespace

std::vector<WorkerBytes> worker_bytes(const Schedule& schedule,
                                      const StagedModel& model,
                                      const MemoryOptions& options) {
  return MemoryModel(schedule, model, options).run();
}

WorkerBytes peak_bytes(const std::vector<WorkerBytes>& workers) {
  return *std::max_element(workers.begin(), workers.end(),
                           [](const WorkerBytes& a, const WorkerBytes& b) {
                             return a.total() < b.total();
                           });
}

}  // namespace chimera
