#include "chimera/train/verify.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include "chimera/exec/run_threads.h"
#include "chimera/exec/worker.h"
#include "chimera/model/torch_stage.h"
#include "chimera/train/update_sequence.h"

namespace chimera {
namespace {

struct Taken {
  at::Tensor weights;
  at::Tensor gradient;
};

using TakenTensors = std::map<std::string, Taken>;  // by parameter

// The gradients that workers were about to apply, by update. Filled from all
// ranks' threads. The first replica of a tensor is kept; later ones are only
// compared with it.
class Collection {
 public:
  explicit Collection(const UpdateSequence& updates)
      : updates_(updates), taken_(updates.count()) {}

  void take(const GradientView& view) {
    const int update = updates_.number(view.step, view.micro);
    for (std::size_t i = 0; i < view.specs.size(); ++i) {
      take(update, view.specs[i].name, view.weights[i].detach(),
           view.gradients[i]);
    }
  }

  [[nodiscard]] const TakenTensors& at(int update) const {
    return taken_[update];
  }
  [[nodiscard]] std::vector<std::string> unequal() const { return unequal_; }

 private:
  void take(int update, const std::string& name, const at::Tensor& weights,
            const at::Tensor& gradient) {
    const std::lock_guard lock(mutex_);
    const auto [entry, is_first] = taken_[update].try_emplace(name);
    if (is_first) {
      entry->second = {weights.clone(), gradient.clone()};
    } else if (!at::equal(entry->second.weights, weights) ||
               !at::equal(entry->second.gradient, gradient)) {
      unequal_.push_back(name + " (step " +
                         std::to_string(updates_.step_of(update) + 1) + ")");
    }
  }

  const UpdateSequence& updates_;
  std::mutex mutex_;
  std::vector<TakenTensors> taken_;
  std::vector<std::string> unequal_;
};

Formats formats_of(const RunSetup& setup, const VerifyOptions& options) {
  if (options.dtype == at::kFloat)
    return formats_of(setup.config.train.precision);
  return {.numbers = options.dtype, .products = options.dtype};
}

// Trains through the schedule and returns the loss of each step that ran.
std::vector<double> run_split(const RunSetup& setup,
                              const VerifyOptions& options,
                              Collection& collection) {
  TorchComputeOptions compute =
      compute_options(setup, formats_of(setup, options));
  compute.on_gradient = [&](const GradientView& view) {
    collection.take(view);
  };
  std::vector<double> losses(options.steps);
  int steps_run = 0;  // fewer if a loss is not finite
  run_workers(
      {.ranks = num_ranks(setup.schedule),
       .deadline = std::chrono::duration<double>(setup.config.run.timeout_s)},
      [&](int rank) { return make_torch_compute(compute, rank); },
      [&](Transport& transport, StageCompute& compute_of_rank) {
        const int rank = transport.rank();
        Worker worker(transport, compute_of_rank,
                      {.on_vote = [&](const VoteResult& vote) {
                        if (rank == 0) losses[vote.step] = vote.ballot.loss;
                      }});
        const Program program(setup.schedule, rank);
        const int end = worker.run(program, {.end = options.steps});
        if (rank == 0) steps_run = end;
      });
  losses.resize(steps_run);
  return losses;
}

// Runs the same samples through the whole model: all at once, or in bf16, whose
// rounding depends on what is multiplied together, part by part.
class Reference {
 public:
  Reference(const RunSetup& setup, const Formats& formats)
      : setup_(setup),
        rounds_(formats.products != formats.numbers),
        stage_({.layers = setup.model.layers, .formats = formats}) {
    // Matrix products add in an order that depends on the number of threads.
    if (rounds_) at::set_num_threads(setup.threads);
    for (int stage = 0; stage < setup.schedule.stages(); ++stage) {
      for (const auto& layer : layers_of(setup.model, setup.cut, stage)) {
        for (const ParameterSpec& spec : layer->parameters()) {
          stage_of_.try_emplace(spec.name, stage);
        }
      }
    }
  }

  struct Result {
    double loss = 0;
    std::map<std::string, at::Tensor> gradients;
    double norm = 0;
  };

  Result run(int update, const UpdateSequence& updates,
             const Collection& collection) {
    const ParameterInit weights_then = [&](const ParameterSpec& spec) {
      const int stage = stage_of_.at(spec.name);
      return collection.at(updates.version(update, stage))
          .at(spec.name)
          .weights;
    };
    const auto weights = stage_.make_weights(weights_then, nullptr, nullptr);
    Result result;
    for (const TensorBatch& batch :
         rounds_ ? updates.parts(update) : updates.batches(update)) {
      StageGraph graph;
      const at::Tensor loss = stage_.run({}, *weights,
                                         {.batch = batch,
                                          .seed = setup_.config.train.seed,
                                          .step = updates.step_of(update)},
                                         nullptr);
      graph.root = root_of(loss);
      result.loss += loss.item<double>();
      (void)run_backward(graph, {});
    }
    collect(stage_.block(), result);
    // Drops the gradient, so that the next update's starts from zero.
    stage_.block().skip_update();
    stage_.block().begin_gradient();
    return result;
  }

 private:
  static void collect(const ParameterBlock& block, Result& result) {
    const std::vector<at::Tensor> gradients = block.gradients();
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      result.gradients[block.specs()[i].name] = gradients[i].clone();
    }
    result.norm = std::sqrt(block.squared_norm().item<double>());
  }

  const RunSetup& setup_;
  bool rounds_;
  TorchStage stage_;
  std::map<std::string, int> stage_of_;  // first stage that holds it
};

double largest(const at::Tensor& tensor) {
  return tensor.numel() == 0 ? 0 : tensor.abs().max().item<double>();
}

TensorCheck compare(const std::string& name, const at::Tensor& gradient,
                    const at::Tensor& reference, double norm) {
  const bool wide = gradient.scalar_type() == at::kDouble;
  TensorCheck check{.name = name,
                    .difference = largest(gradient - reference),
                    .largest = largest(reference)};
  check.allowed =
      (wide ? 1e-12 : 1e-5) * check.largest + (wide ? 1e-14 : 1e-7) * norm;
  // A NaN fails, because any comparison with it is false.
  return check;
}

bool is_worse(const TensorCheck& a, const TensorCheck& b) {
  const auto ratio = [](const TensorCheck& check) {
    if (!std::isfinite(check.difference)) return HUGE_VAL;
    return check.allowed > 0 ? check.difference / check.allowed
                             : check.difference;
  };
  return ratio(a) > ratio(b);
}

LossCheck compare_loss(double loss, double reference, at::ScalarType dtype) {
  const double tolerance = dtype == at::kDouble ? 1e-12 : 1e-5;
  return {.loss = loss,
          .reference = reference,
          .passes = std::abs(loss - reference) <=
                    tolerance * std::max(1.0, std::abs(reference))};
}

}  // namespace

bool VerifyReport::passes() const {
  return unequal_replicas.empty() &&
         std::all_of(losses.begin(), losses.end(),
                     [](const LossCheck& check) { return check.passes; }) &&
         std::all_of(checks.begin(), checks.end(),
                     [](const TensorCheck& check) { return check.passes(); });
}

VerifyReport verify(const RunSetup& setup, const VerifyOptions& options) {
  const UpdateSequence updates(setup, options.steps);
  Collection collection(updates);
  const std::vector<double> losses = run_split(setup, options, collection);
  const int steps = static_cast<int>(losses.size());
  const int per_step = updates.count() / options.steps;
  Reference reference(setup, formats_of(setup, options));
  std::vector<double> expected_losses(losses.size(), 0.0);
  VerifyReport report;
  for (int update = 0; update < steps * per_step; ++update) {
    const int step = updates.step_of(update);
    const Reference::Result expected =
        reference.run(update, updates, collection);
    expected_losses[step] += expected.loss / per_step;
    for (const auto& [name, tensors] : collection.at(update)) {
      report.checks.push_back(compare(
          name, tensors.gradient, expected.gradients.at(name), expected.norm));
      report.checks.back().step = step + 1;
    }
  }
  for (int step = 0; step < steps; ++step) {
    report.losses.push_back(
        compare_loss(losses[step], expected_losses[step], options.dtype));
  }
  std::sort(report.checks.begin(), report.checks.end(), is_worse);
  report.unequal_replicas = collection.unequal();
  return report;
}

}  // namespace chimera
