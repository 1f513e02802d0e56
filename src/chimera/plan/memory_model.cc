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
        undoes_updates_(
            !is_asynchronous(schedule) &&
            (options.undoes_updates || has_late_vote(schedule.actions[0]))),
        parts_left_(index_.cells(), schedule.parts) {}

  std::vector<WorkerBytes> run() {
    std::vector<WorkerBytes> workers(schedule_.workers());
    std::vector<std::set<int>> stages(schedule_.workers());
    for (int pipe = 0; pipe < schedule_.pipes(); ++pipe) {
      for (int stage = 0; stage < schedule_.stages(); ++stage) {
        const int worker = schedule_.placement.worker(pipe, stage);
        stages[worker].insert(stage);
        if (options_.has_receive_buffers) {
          workers[worker].boundary += receive_bytes(pipe, stage);
        }
      }
    }
    for (int worker = 0; worker < schedule_.workers(); ++worker) {
      for (const int stage : stages[worker]) {
        add_stage(stage, workers[worker]);
      }
      if (stages[worker].contains(0) || stages[worker].contains(last())) {
        add_tied(workers[worker]);
      }
      add_peak(schedule_.actions[worker], workers[worker]);
    }
    return workers;
  }

 private:
  [[nodiscard]] int last() const { return schedule_.stages() - 1; }

  void add_stage(int stage, WorkerBytes& bytes) const {
    const StageCosts& cost = model_.costs.stages[stage];
    bytes.weights +=
        cost.weight_bytes * (1 + model_.rounded_share) * versions(stage);
    bytes.gradients += cost.gradient_bytes;
    const double shares = options_.shard_update ? holders({stage}) : 1;
    bytes.optimizer += cost.optimizer_bytes / shares;
    if (undoes_updates_) {
      bytes.undo += (cost.weight_bytes + cost.optimizer_bytes) / shares;
    }
    if (options_.saves) {
      // 2BW resumes from two versions; PipeDream needs only the newest.
      const int saved = schedule_.updates == UpdateRule::kOneBehind ? 2 : 1;
      bytes.checkpoint +=
          (saved * cost.weight_bytes + cost.optimizer_bytes) / holders({stage});
    }
  }

  void add_tied(WorkerBytes& bytes) const {
    bytes.weights += model_.costs.tied_bytes * (1 + model_.rounded_share);
    bytes.gradients += model_.costs.tied_bytes;
    const double shares = options_.shard_update ? holders({0, last()}) : 1;
    bytes.optimizer += model_.tied_optimizer_bytes / shares;
    if (undoes_updates_) {
      bytes.undo +=
          (model_.costs.tied_bytes + model_.tied_optimizer_bytes) / shares;
    }
    if (options_.saves) {
      bytes.checkpoint +=
          (model_.costs.tied_bytes + model_.tied_optimizer_bytes) /
          holders({0, last()});
    }
  }

  // Versions of the weights that exist at once: one for each update that a
  // forward in flight may be behind.
  [[nodiscard]] int versions(int stage) const {
    if (!is_asynchronous(schedule_)) return 1;
    return schedule_.updates == UpdateRule::kEveryMicro
               ? schedule_.stages() - stage
               : 2;
  }

  // Number of holders of any of `stages`, over all copies.
  [[nodiscard]] double holders(const std::set<int>& stages) const {
    std::set<int> workers;
    for (int pipe = 0; pipe < schedule_.pipes(); ++pipe) {
      for (const int stage : stages) {
        workers.insert(schedule_.placement.worker(pipe, stage));
      }
    }
    return static_cast<double>(workers.size()) * schedule_.width;
  }

  // Bytes of posted receives: one buffer for each direction from which another
  // worker sends.
  [[nodiscard]] double receive_bytes(int pipe, int stage) const {
    const auto from = [&](int neighbour, int lower) {
      const bool other = schedule_.placement.worker(pipe, neighbour) !=
                         schedule_.placement.worker(pipe, stage);
      return other ? model_.costs.stages[lower].boundary_bytes : 0;
    };
    double bytes = 0;
    if (stage > 0) bytes += from(stage - 1, stage - 1);
    if (stage < last()) bytes += from(stage + 1, stage);
    return bytes;
  }

  [[nodiscard]] double input(int stage) const {
    return stage == 0 ? 0 : model_.costs.stages[stage - 1].boundary_bytes;
  }
  // Bytes of what a backward needs, besides the stage's input.
  [[nodiscard]] double activation(int stage) const {
    return model_.costs.stages[stage].activation_bytes;
  }
  // Bytes kept from F to the backward.
  [[nodiscard]] double kept(int stage) const {
    return input(stage) + (options_.recompute
                               ? model_.costs.stages[stage].kept_bytes
                               : activation(stage));
  }
  // Bytes that R adds.
  [[nodiscard]] double remade(int stage) const {
    return activation(stage) - model_.costs.stages[stage].kept_bytes;
  }

  // Walks a worker's list once, in steady state, to find the peak.
  void add_peak(const ActionList& list, WorkerBytes& bytes) {
    const bool says_when =
        std::any_of(list.begin(), list.end(),
                    [](const Action& action) { return action.op == Op::kR; });
    double held = in_flight(list);
    bytes.activations = held;
    const auto note = [&](double workspace) {
      if (held + workspace <= bytes.activations + bytes.workspace) return;
      bytes.activations = held;
      bytes.workspace = workspace;
    };
    for (const Action& action : list) {
      const int stage = action.stage;
      if (action.op == Op::kF) {
        held += kept(stage);
        note(model_.costs.stages[stage].boundary_bytes);  // its output
      }
      // A schedule without R recomputes right before the backward.
      if (options_.recompute &&
          (says_when ? action.op == Op::kR
                     : gives_gradient(action.op) && action.part == 0)) {
        held += remade(stage);
      }
      if (gives_gradient(action.op)) {
        note(model_.costs.stages[stage].boundary_bytes / schedule_.parts +
             (action.op == Op::kI ? model_.input_workspace_bytes
                                  : model_.workspace_bytes)[stage]);
      }
      held += change_after(action);
    }
  }

  // Change of the bytes held by a backward or by one of its halves.
  double change_after(const Action& action) {
    const int stage = action.stage;
    const double deferred = action.op == Op::kI || action.op == Op::kW
                                ? model_.deferred_bytes[stage]
                                : 0;
    double change = 0;
    if (gives_gradient(action.op)) change = deferred - activation(stage);
    if (action.op == Op::kW) change = -deferred;
    change /= schedule_.parts;
    if (gives_gradient(action.op) &&
        --parts_left_[index_.cell(stage, action.micro)] == 0) {
      change -= input(stage);
    }
    return change;
  }

  // Bytes held from earlier steps: one activation for every step by which the
  // end of a micro-batch lags behind its beginning. (No scheme splits backwards
  // and keeps work in flight.)
  [[nodiscard]] double in_flight(const ActionList& list) const {
    double held = 0;
    for (const Action& action : list) {
      if (action.op == Op::kF) held += action.step * kept(action.stage);
      if (gives_gradient(action.op) && action.part + 1 == schedule_.parts) {
        held -= action.step * kept(action.stage);
      }
    }
    return held;
  }

  const Schedule& schedule_;
  const StagedModel& model_;
  const MemoryOptions& options_;
  MicroIndex index_;
  bool undoes_updates_;
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
