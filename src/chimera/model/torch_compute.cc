// One rank's stages on libtorch. Three decisions shape this file:
//
// - A graph per part. A forward detaches its input and its output, so autograd
//   never reaches into a neighbouring stage; the gradient of the detached input
//   is what the backward sends on. The stash keeps the graph, not the output.
// - The split of a backward is decided when its forward runs. Layers that are
//   given a queue leave their weight gradients in it, so backward and
//   input_grad are the same call, and weight_grad runs the queue.
// - Memory is charged to the rank that can use it. A received tensor is claimed
//   when it is used, and a tensor to send is disclaimed, because its receiver
//   claims it and both would count it otherwise.
#include "chimera/model/torch_compute.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "chimera/base/check.h"
#include "chimera/exec/program.h"
#include "chimera/model/device_clock.h"
#include "chimera/model/held_stages.h"
#include "chimera/model/memory_meter.h"
#include "chimera/model/micro_batches.h"
#include "chimera/model/step_numbers.h"
#include "chimera/model/tensor_mail.h"
#include "chimera/model/torch_stage.h"

namespace chimera {
namespace {

// Joins the outputs of a micro-batch's parts: samples in order, or the sum of
// the losses.
at::Tensor joined(const std::vector<at::Tensor>& parts) {
  if (parts.size() == 1) return parts[0];
  return parts[0].dim() == 0 ? parts[0] + parts[1] : at::cat(parts);
}

class TorchCompute final : public StageCompute {
 public:
  TorchCompute(const TorchComputeOptions& options, int rank);

  WeightsPtr initial_weights(int stage) override;
  WeightsPtr initial_previous(int stage) override;
  std::vector<StatePiece> state(const StateOrder& order) override {
    return stages_->state(order);
  }
  std::int64_t state_bytes(int stage) const override {
    if (!device_.is_cpu()) return 0;  // state() copies on devices
    return stages_->state_bytes(stage, is_double_buffered() ? 2 : 1);
  }
  std::int64_t updates() const override { return stages_->updates(); }
  ForwardResult forward(const Work& work, const WeightsPtr& weights,
                        PayloadPtr input, Keep keep) override;
  void recompute(const Work& work, Stash& stash) override;
  PayloadPtr backward(const Work& work, Stash& stash,
                      PayloadPtr gradient) override;
  PayloadPtr input_grad(const Work& work, Stash& stash,
                        PayloadPtr gradient) override;
  void weight_grad(const Work& work, Stash& stash) override;
  NumberBuffer gradient(const SumGroup& group) override;
  WeightsPtr update(const UpdateOrder& order,
                    const WeightsPtr& current) override;
  bool confirms(const Ballot& vote) const override {
    return !is_bad(vote) && gradient_scale(vote) == 1;
  }
  void undo_update(int stage, const WeightsPtr& weights) override;
  void forget_forwards(int step) override { training_numbers_.erase(step); }
  NumberBuffer updated_shards(const SumGroup& group, int stage) override;
  void take_shards(const SumGroup& group, int stage) override {
    stages_->take_shards(group, stage, *newest_[stage]);
  }
  Ballot ballot(int step, bool training) override;
  PayloadPtr empty_payload(const Work& work, bool is_gradient) override;
  TimeMarkPtr mark() override { return clock_ ? clock_->mark() : nullptr; }
  TimeMarkPtr work_start() override { return std::exchange(work_start_, {}); }
  std::int64_t peak_bytes() const override {
    return memory_ ? memory_->peak_bytes() : meter_->peak_bytes();
  }

 private:
  using Numbers = std::map<int, StepNumbers>;  // by step

  void note_list();
  [[nodiscard]] bool is_last(int stage) const {
    return stage + 1 == options_.schedule.stages();
  }
  // True for 2BW.
  [[nodiscard]] bool is_double_buffered() const {
    return is_asynchronous_ && !updates_each_micro_;
  }
  // False if somebody observes gradients: an observer needs all of them.
  [[nodiscard]] bool sums_shards() const {
    return options_.shard_update && !options_.on_gradient;
  }
  // True if the ranks of this process may share one copy of the weights. False
  // with an observer of gradients, which also sees the weights, while another
  // holder may already update them; and with a late vote, which may undo an
  // update while another holder still computes with it.
  [[nodiscard]] bool shares_weights() const {
    return sums_shards() && !is_asynchronous_ && !is_vote_late_ &&
           device_.is_cpu();
  }
  // The factor for gradients, as in torch.nn.utils.clip_grad_norm_.
  [[nodiscard]] double gradient_scale(const Ballot& vote) const {
    if (options_.clip <= 0) return 1;
    return std::min(1.0, options_.clip / (std::sqrt(vote.squared_norm) + 1e-6));
  }
  [[nodiscard]] int parts(const Work& work) const {
    return work.training ? options_.schedule.parts : 1;
  }

  // Number of layers, counted from the stage's first, that an R runs again.
  [[nodiscard]] int recomputed_layers(int stage) {
    const int all = stages_->at(stage).num_layers();
    const int some = options_.schedule.recomputed_layers;
    return some == 0 ? all : std::min(some, all);
  }
  // A range of a stage's layers.
  struct Layers {
    int first = 0;
    int end = 0;
  };
  [[nodiscard]] std::vector<at::Tensor> build_graphs(const Work& work,
                                                     const at::Tensor& input,
                                                     const Layers& layers,
                                                     TorchStash& stash);
  void note_output(const Work& work, const at::Tensor& output);
  [[nodiscard]] at::Tensor run_graph(const Work& work, Stash& stash,
                                     const PayloadPtr& gradient);
  void apply(ParameterBlock& block, const UpdateOrder& order,
             const BlockValues& values);
  void show(const ParameterBlock& block, const UpdateOrder& order,
            const BlockValues& values) const;

  std::shared_ptr<MemoryMeter> meter_ = std::make_shared<MemoryMeter>();
  MeterScope scope_{meter_};  // charges this rank's thread
  const TorchComputeOptions options_;
  int rank_;
  at::Device device_;
  RankPlace place_;
  MicroIndex index_;
  std::optional<HeldStages> stages_;
  std::map<int, const TorchWeights*> newest_;  // by stage; not owned
  std::vector<bool> is_split_;                 // [gradient]: split into I, W
  bool updates_each_micro_ = false;            // PipeDream
  bool is_asynchronous_ = false;
  bool vote_gates_update_ = false;
  bool is_vote_late_ = false;
  std::optional<MicroBatches> batches_;
  std::optional<TensorMail> mail_;
  std::optional<DeviceMemory> memory_;  // only on a device, as the next two
  std::optional<DeviceClock> clock_;
  TimeMarkPtr work_start_;
  Numbers training_numbers_;
  Numbers evaluation_numbers_;
  std::vector<at::Tensor> squared_norms_;  // one per update since the last vote
};

TorchCompute::TorchCompute(const TorchComputeOptions& options, int rank)
    : options_(options),
      rank_(rank),
      device_(device_of(options, rank)),
      place_(place_of(options.schedule, rank)),
      index_(options.schedule),
      is_split_(index_.size(), false),
      is_asynchronous_(chimera::is_asynchronous(options.schedule)) {
  at::set_num_threads(options_.threads);
  compute_on(device_);
  mail_.emplace(device_);
  if (!device_.is_cpu()) {
    memory_.emplace(device_);
    clock_.emplace(current_stream(device_));
  }
  // The order matters: parameters are made on the stream that compute_on() has
  // set, and batches depend on what note_list() finds.
  stages_.emplace(options_, rank);
  note_list();
  batches_.emplace(MicroBatches::Options{.schedule = options_.schedule,
                                         .copy = place_.copy,
                                         .micro_batch = options_.micro_batch,
                                         .mean_of_each = updates_each_micro_,
                                         .training = options_.training,
                                         .evaluation = options_.evaluation,
                                         .device = device_});
}

void TorchCompute::note_list() {
  const ActionList& list = options_.schedule.actions[place_.worker];
  vote_gates_update_ = vote_gates_updates(list);
  is_vote_late_ = has_late_vote(list);
  for (const Action& action : list) {
    if (action.op == Op::kI) {
      is_split_[index_.made_by(action)] = true;
    }
    if (action.op == Op::kU && action.micro != kNone) {
      updates_each_micro_ = true;
    }
  }
}

WeightsPtr TorchCompute::initial_weights(int stage) {
  auto weights = stages_->make_weights(
      stage, shares_weights() ? options_.shared.get() : nullptr);
  newest_[stage] = weights.get();
  return weights;
}

WeightsPtr TorchCompute::initial_previous(int stage) {
  return is_double_buffered() ? stages_->make_previous(stage) : nullptr;
}

ForwardResult TorchCompute::forward(const Work& work, const WeightsPtr& weights,
                                    PayloadPtr input, Keep keep) {
  mail_->free_returned();
  auto stash = std::make_unique<TorchStash>();
  stash->weights = std::dynamic_pointer_cast<TorchWeights>(weights);
  const at::Tensor x = input ? mail_->arrived(input) : at::Tensor();
  work_start_ = mark();
  at::Tensor output;
  const int all = stages_->at(work.stage).num_layers();
  // The layers that R will run again need no graph now; the layers behind them
  // keep theirs from the start. If no graph is needed at all, the whole
  // micro-batch runs at once, without parts.
  const int first = keep == Keep::kGraph ? 0 : recomputed_layers(work.stage);
  if (keep != Keep::kNothing && first < all) {
    output = joined(build_graphs(work, x, {first, all}, *stash));
    if (keep == Keep::kInput) stash->input = x;
  } else {
    const at::NoGradGuard no_grad;
    const TensorBatch batch = batches_->read(work);
    output = stages_->at(work.stage)
                 .run(x, *stash->weights,
                      {.batch = batch,
                       .seed = options_.seed,
                       .step = work.step,
                       .training = work.training},
                      nullptr);
    stash->input = x;
  }
  note_output(work, output);
  ForwardResult result;
  if (!is_last(work.stage)) result.output = mail_->on_its_way(output);
  if (keep != Keep::kNothing) result.stash = std::move(stash);
  return result;
}

// Runs the forward of each part up to the end of `layers`, from the stage's
// first layer, and keeps the graph of `layers` in `stash`. Returns the detached
// outputs.
std::vector<at::Tensor> TorchCompute::build_graphs(const Work& work,
                                                   const at::Tensor& input,
                                                   const Layers& layers,
                                                   TorchStash& stash) {
  const TorchStage& stage = stages_->at(work.stage);
  auto& graphs =
      layers.end < stage.num_layers() ? stash.first_graphs : stash.graphs;
  std::vector<at::Tensor> outputs;
  const int num_parts = parts(work);
  const std::int64_t samples = options_.micro_batch / num_parts;
  const TensorBatch whole = batches_->read(work);
  for (int part = 0; part < num_parts; ++part) {
    auto graph = std::make_unique<StageGraph>();
    const TensorBatch batch = slice(whole, part * samples, samples);
    const auto run = [&](const at::Tensor& x, const Layers& range,
                         WeightGradQueue* deferred) {
      return stage.run(x, *stash.weights,
                       {.batch = batch,
                        .seed = options_.seed,
                        .step = work.step,
                        .first = range.first,
                        .end = range.end},
                       deferred);
    };
    at::Tensor x =
        input.defined() ? input.narrow(0, part * samples, samples) : input;
    if (layers.first > 0) {
      const at::NoGradGuard no_grad;
      x = run(x, {0, layers.first}, nullptr);
    }
    // Makes the input a leaf of its own graph: the backward ends here, and the
    // leaf's gradient is what the previous stage waits for.
    if (x.defined()) graph->input = x.detach().requires_grad_(true);
    const bool split = is_split_[index_.gradient(work.stage, work.micro, part)];
    const at::Tensor output =
        run(graph->input, layers, split ? &graph->deferred : nullptr);
    graph->root = root_of(output);
    graph->is_constant = !x.defined() && !output.requires_grad();
    graphs.push_back(std::move(graph));
    outputs.push_back(output.detach());
  }
  return outputs;
}

void TorchCompute::note_output(const Work& work, const at::Tensor& output) {
  StepNumbers& noted =
      (work.training ? training_numbers_ : evaluation_numbers_)[work.step];
  if (is_last(work.stage)) {
    noted.add_loss(output, batches_->share_of_step(work));
  }
  const int micro = place_.copy * options_.schedule.micros + work.micro;
  // Places ascend by micro-batch, then by stage. The vote takes the lowest
  // place, because there the first bad number arose.
  noted.check_output(output,
                     double(micro) * options_.schedule.stages() + work.stage);
}

void TorchCompute::recompute(const Work& work, Stash& stash) {
  work_start_ = mark();
  auto& torch_stash = dynamic_cast<TorchStash&>(stash);
  (void)build_graphs(work, torch_stash.input,
                     {0, recomputed_layers(work.stage)}, torch_stash);
  // The graphs keep whatever they need of the input.
  torch_stash.input.reset();
}

at::Tensor TorchCompute::run_graph(const Work& work, Stash& stash,
                                   const PayloadPtr& gradient) {
  mail_->free_returned();
  stages_->begin_gradients(work.stage);
  auto& torch_stash = dynamic_cast<TorchStash&>(stash);
  const at::Tensor seed = gradient ? mail_->arrived(gradient) : at::Tensor();
  work_start_ = mark();
  // With a recomputation in part, the gradient passes through the layers that
  // kept their graph and then through those that R has run again.
  at::Tensor passed_on = run_backward(*torch_stash.graphs[work.part], seed);
  if (torch_stash.first_graphs.empty() || !passed_on.defined()) {
    return passed_on;
  }
  return run_backward(*torch_stash.first_graphs[work.part], passed_on);
}

PayloadPtr TorchCompute::backward(const Work& work, Stash& stash,
                                  PayloadPtr gradient) {
  const at::Tensor passed_on = run_graph(work, stash, gradient);
  return passed_on.defined() ? mail_->on_its_way(passed_on) : nullptr;
}

// Runs the graph like backward(). If this backward is split, the forward gave
// the layers a queue, which leaves the weight gradients to weight_grad().
PayloadPtr TorchCompute::input_grad(const Work& work, Stash& stash,
                                    PayloadPtr gradient) {
  return backward(work, stash, std::move(gradient));
}

void TorchCompute::weight_grad(const Work& work, Stash& stash) {
  work_start_ = mark();
  const at::NoGradGuard no_grad;
  auto& torch_stash = dynamic_cast<TorchStash&>(stash);
  torch_stash.graphs[work.part]->deferred.run();
  if (torch_stash.first_graphs.empty()) return;
  torch_stash.first_graphs[work.part]->deferred.run();
}

NumberBuffer TorchCompute::gradient(const SumGroup& group) {
  ParameterBlock& block = stages_->block_of(group);
  // Contributes zeros if no micro-batch has passed the stage in this step, not
  // what is left of the step before.
  block.begin_gradient();
  return block.gradient_to_sum(sums_shards());
}

void TorchCompute::show(const ParameterBlock& block, const UpdateOrder& order,
                        const BlockValues& values) const {
  if (!options_.on_gradient) return;
  options_.on_gradient({.rank = rank_,
                        .step = order.step,
                        .micro = order.micro,
                        .specs = block.specs(),
                        .weights = values.masters,
                        .gradients = block.gradients()});
}

void TorchCompute::apply(ParameterBlock& block, const UpdateOrder& order,
                         const BlockValues& values) {
  block.begin_gradient();
  // A late vote may repeat the update, but the observer sees its gradient only
  // once.
  if (!is_vote_late_ || order.is_provisional) show(block, order, values);
  // A vote before the update reads the norm of the gradient itself. A later
  // vote could not, because the update consumes the gradient, so the norm is
  // added here.
  if (!vote_gates_update_) {
    squared_norms_.push_back(block.squared_norm());
  }
  ParameterBlock::Update update{.optimizer = *options_.optimizer,
                                .step = order.step,
                                .own_shard_only = options_.shard_update,
                                .can_be_undone = order.is_provisional};
  if (order.vote != nullptr) {
    if (is_bad(*order.vote)) return block.skip_update();
    update.gradient_scale = gradient_scale(*order.vote);
  }
  block.update(update, values);
}

void TorchCompute::undo_update(int stage, const WeightsPtr& weights) {
  stages_->at(stage).block().undo_update(
      dynamic_cast<const TorchWeights&>(*weights).own);
  if (ParameterBlock* tied = stages_->tied_updated_with(stage)) {
    tied->undo_update(stages_->tied_values());
  }
}

WeightsPtr TorchCompute::update(const UpdateOrder& order,
                                const WeightsPtr& current) {
  work_start_ = mark();
  TorchStage& stage = stages_->at(order.stage);
  auto weights = std::dynamic_pointer_cast<TorchWeights>(current);
  // Copies the values if a stash, or 2BW's previous version, still needs them.
  if (order.keep_current) weights = stage.copy_weights(*weights);
  apply(stage.block(), order, weights->own);
  // The tied weight has no stage of its own, so it is updated with one of the
  // two stages that share it.
  if (ParameterBlock* tied = stages_->tied_updated_with(order.stage)) {
    apply(*tied, order, stages_->tied_values());
  }
  newest_[order.stage] = weights.get();
  return weights;
}

NumberBuffer TorchCompute::updated_shards(const SumGroup& group, int stage) {
  if (!options_.shard_update) return {};
  return stages_->updated_shards(group, stage, *newest_[stage]);
}

Ballot TorchCompute::ballot(int step, bool training) {
  Numbers& numbers = training ? training_numbers_ : evaluation_numbers_;
  std::vector<at::Tensor> squared_norms;
  if (training) {
    squared_norms = vote_gates_update_ ? stages_->squared_norms()
                                       : std::exchange(squared_norms_, {});
  }
  Ballot ballot = numbers[step].read(squared_norms);
  numbers.erase(step);
  if (!training) return ballot;
  // PipeDream updates once per micro-batch. The step reports the mean of the
  // updates' squared norms.
  if (updates_each_micro_) ballot.squared_norm /= options_.schedule.micros;
  if (is_bad(ballot) && options_.on_nan == OnNan::kStop) ballot.stop = 1;
  return ballot;
}

// Called only by transports between processes, because threads hand tensors
// over.
PayloadPtr TorchCompute::empty_payload(const Work& work, bool is_gradient) {
  const std::int64_t samples =
      options_.micro_batch / (is_gradient ? parts(work) : 1);
  const ModelShape& shape = options_.model.details.shape;
  std::vector<std::int64_t> sizes = {samples, shape.seq, shape.hidden};
  at::ScalarType type = options_.formats.products;
  // Shapes at a boundary between stages, from the last layer before it:
  // user-defined layers have shapes found by a dry run, transformers always
  // (seq, hidden).
  if (!options_.model.boundaries.empty()) {
    const int last_layer = options_.cut[work.stage + (is_gradient ? 1 : 0)] - 1;
    const BoundaryShape& boundary = options_.model.boundaries[last_layer];
    sizes = {samples};
    sizes.insert(sizes.end(), boundary.sizes.begin(), boundary.sizes.end());
    type = boundary.type;
  }
  return mail_->empty(sizes, type);
}

}  // namespace

BadPlace bad_place(double bad_at, const Schedule& schedule) {
  const auto code = static_cast<std::int64_t>(bad_at);
  return {.micro = static_cast<int>(code / schedule.stages()),
          .stage = static_cast<int>(code % schedule.stages())};
}

std::unique_ptr<StageCompute> make_torch_compute(
    const TorchComputeOptions& options, int rank) {
  return std::make_unique<TorchCompute>(options, rank);
}

std::vector<NamedTensor> named_weights(const TorchComputeOptions& options,
                                       int stage, const Weights& weights) {
  const auto& torch_weights = dynamic_cast<const TorchWeights&>(weights);
  std::vector<NamedTensor> named;
  const auto layers = layers_of(options.model, options.cut, stage);
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    const std::vector<ParameterSpec>& specs = layers[layer]->parameters();
    for (std::size_t i = 0; i < specs.size(); ++i) {
      named.push_back(
          {specs[i].name, torch_weights.masters_by_layer[layer][i].detach()});
    }
  }
  return named;
}

std::span<const std::unique_ptr<Layer>> layers_of(const Model& model,
                                                  const std::vector<int>& cut,
                                                  int stage) {
  const std::size_t first = cut[stage];
  const std::size_t end = stage + 1 < static_cast<int>(cut.size())
                              ? cut[stage + 1]
                              : model.layers.size();
  return std::span(model.layers).subspan(first, end - first);
}

}  // namespace chimera
