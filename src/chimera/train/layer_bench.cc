#include "chimera/train/layer_bench.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "chimera/base/counter_random.h"
#include "chimera/model/device_clock.h"
#include "chimera/model/initial_weights.h"
#include "chimera/model/memory_meter.h"
#include "chimera/plan/model_layers.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/scheme.h"
#include "chimera/train/optimizers.h"

namespace chimera {
namespace {

// Number of blocks to measure: enough that their weights come from memory, as
// in training, and not from a cache. Embeddings and head are measured once
// each.
int num_blocks(const ModelShape& shape) {
  constexpr int kMostBlocks = 4;
  constexpr double kMoreThanCaches = 64e6;
  const double bytes = 4 * layers_of(shape)[1].parameters;
  const int enough = static_cast<int>(kMoreThanCaches / bytes) + 1;
  return std::min({shape.layers, kMostBlocks, enough});
}

// Random tokens. For BERT 15 % of them have a target, as in training.
class RandomTokens final : public BatchSource {
 public:
  explicit RandomTokens(const ModelShape& shape) : shape_(shape) {}

  Batch read(std::int64_t step, std::int64_t first,
             std::int64_t count) const override {
    const CounterRandom random(RandomUse::kMasking,
                               {static_cast<std::uint64_t>(step)});
    const bool bert = shape_.kind == ModelKind::kBert;
    Batch batch{.samples = static_cast<int>(count), .seq = shape_.seq};
    for (std::int64_t sample = first; sample < first + count; ++sample) {
      batch.sample_ids.push_back(sample);
      for (int place = 0; place < shape_.seq; ++place) {
        const std::int64_t number = sample * shape_.seq + place;
        const auto token = static_cast<std::int64_t>(
            random.below(static_cast<std::uint64_t>(number), shape_.vocab));
        batch.inputs.push_back(token);
        const bool counts = !bert || place % 20 < 3;
        batch.targets.push_back(counts ? token : kIgnoredTarget);
        if (bert) batch.token_types.push_back(0);
      }
      if (bert) batch.next_sentence.push_back(0);
    }
    return batch;
  }
  std::vector<std::int64_t> sample_ids(std::int64_t /*step*/,
                                       std::int64_t first,
                                       std::int64_t count) const override {
    std::vector<std::int64_t> ids(count);
    std::iota(ids.begin(), ids.end(), first);
    return ids;
  }
  TargetCount targets(std::int64_t /*step*/) const override {
    return {.tokens = shape_.seq, .samples = 1};
  }
  std::int64_t num_samples() const override { return 1 << 20; }

 private:
  ModelShape shape_;
};

enum class Backwards { kWhole, kSplit };

// A schedule of three stages on one worker.
Schedule bench_schedule(Backwards backwards) {
  Schedule schedule = make_schedule({.scheme = "planned",
                                     .depth = 1,
                                     .micros = 1,
                                     .pipes = 1,
                                     .chunks = kLayerKinds,
                                     .shape = Shape::kLoop})
                          .value();
  if (backwards == Backwards::kSplit) return lower(schedule);
  ActionList whole;
  for (Action action : schedule.actions[0]) {
    if (action.op == Op::kW) continue;
    if (action.op == Op::kI) action.op = Op::kB;
    whole.push_back(action);
  }
  schedule.actions[0] = whole;
  return lower(schedule);
}

// Times consecutive pieces of a compute's work. On a device they are queued one
// behind the other, and their times are read at the end, from marks.
class Stopwatch {
 public:
  explicit Stopwatch(StageCompute& compute) : compute_(compute) { split(); }

  // Ends a piece, whose seconds divided by `count` become `result` in finish().
  void split(double& result, int count) {
    split();
    pieces_.push_back({&result, count});
  }

  void finish() {
    Clock::time_point start = time(0);
    for (std::size_t piece = 0; piece < pieces_.size(); ++piece) {
      const Clock::time_point end = time(piece + 1);
      const std::chrono::duration<double> seconds = end - start;
      *pieces_[piece].result = seconds.count() / pieces_[piece].count;
      start = end;
    }
  }

 private:
  struct Piece {
    double* result;
    int count;
  };
  struct Split {
    Clock::time_point host;
    TimeMarkPtr device;  // null if the host computes
  };

  void split() { splits_.push_back({Clock::now(), compute_.mark()}); }
  [[nodiscard]] Clock::time_point time(std::size_t split) const {
    const auto& [host, device] = splits_[split];
    return device ? device->time() : host;
  }

  StageCompute& compute_;
  std::vector<Split> splits_;
  std::vector<Piece> pieces_;
};

// Counts the bytes of a thread's tensors, or of a device.
class ByteCounter {
 public:
  explicit ByteCounter(at::Device device) {
    if (!device.is_cpu()) device_.emplace(device);
  }

  [[nodiscard]] double live() const {
    return static_cast<double>(device_ ? device_->live_bytes()
                                       : meter_->live_bytes());
  }
  [[nodiscard]] double peak() const {
    return static_cast<double>(device_ ? device_->peak_bytes()
                                       : meter_->peak_bytes());
  }
  void reset_peak() {
    if (device_) return device_->reset_peak();
    meter_->reset_peak();
  }

 private:
  std::shared_ptr<MemoryMeter> meter_ = std::make_shared<MemoryMeter>();
  MeterScope scope_{meter_};
  std::optional<DeviceMemory> device_;
};

std::int64_t own_numbers(const Model& model, int first, int end) {
  std::int64_t count = 0;
  for (int layer = first; layer < end; ++layer) {
    for (const ParameterSpec& spec : model.layers[layer]->parameters()) {
      count += numel(spec);
    }
  }
  return count;
}

}  // namespace

// A StageCompute with one kind of backward, and the steps that it runs.
class LayerBench::Pass {
 public:
  Pass(const LayerBench& bench, Backwards backwards)
      : device_(bench.options_.device),
        is_split_(backwards == Backwards::kSplit),
        blocks_(bench.blocks_),
        boundary_(bench.options_.micro_batch *
                  boundary_bytes(bench.options_.model.shape,
                                 bench.options_.train.precision)),
        schedule_(bench_schedule(backwards)),
        compute_(make_torch_compute(
            {.model = bench.model_,
             .cut = {0, 1, 1 + blocks_},
             .schedule = schedule_,
             .micro_batch = bench.options_.micro_batch,
             .formats = formats_of(bench.options_.train.precision),
             .devices = {device_},
             .threads = bench.options_.threads,
             .init =
                 [](const ParameterSpec& spec) {
                   return init_parameter(spec, 0, at::kFloat);
                 },
             .training =
                 std::make_shared<RandomTokens>(bench.options_.model.shape),
             .optimizer = make_optimizer(bench.options_.train),
             .on_gradient = {}},
            0)) {
    for (int stage = 0; stage < kLayerKinds; ++stage) {
      weights_.push_back(compute_->initial_weights(stage));
    }
  }

  // Runs one step and sets forward, and either backward (whole) or input_grad
  // and weight_grad (split).
  void time(BenchTimes& times) {
    const auto each = [&](int stage) { return stage == 1 ? blocks_ : 1; };
    std::array<StashPtr, kLayerKinds> stashes;
    PayloadPtr passed;
    Stopwatch watch(*compute_);
    for (int stage = 0; stage < kLayerKinds; ++stage) {
      forward(stage, passed, stashes);
      watch.split(times.layers[stage].forward, each(stage));
    }
    for (int stage = kLayerKinds - 1; stage >= 0; --stage) {
      backward(stage, passed, stashes);
      LayerTimes& layer = times.layers[stage];
      watch.split(is_split_ ? layer.input_grad : layer.backward, each(stage));
    }
    for (int stage = kLayerKinds - 1; is_split_ && stage >= 0; --stage) {
      compute_->weight_grad(work(stage), *stashes[stage]);
      watch.split(times.layers[stage].weight_grad, each(stage));
    }
    watch.finish();
  }

  // Returns the seconds of the blocks' update, including the norm and the
  // zeroing of their gradient.
  double time_update() {
    double update = 0;
    Stopwatch watch(*compute_);
    weights_[1] = compute_->update({.stage = 1, .step = step_}, weights_[1]);
    watch.split(update, 1);
    (void)compute_->ballot(step_, true);
    watch.finish();
    ++step_;
    return update;
  }

  void measure(std::array<LayerBytes, kLayerKinds>& bytes) {
    ByteCounter counter(device_);
    std::array<StashPtr, kLayerKinds> stashes;
    std::array<double, kLayerKinds> before;
    PayloadPtr passed;
    // On the CPU a message in transit is charged to nobody.
    const auto held = [&] {
      return counter.live() + (device_.is_cpu() && passed ? boundary_ : 0);
    };
    for (int stage = 0; stage < kLayerKinds; ++stage) {
      before[stage] = held();
      forward(stage, passed, stashes);
      if (!is_split_) bytes[stage].activation = held() - before[stage];
    }
    for (int stage = kLayerKinds - 1; stage >= 0; --stage) {
      const double start = held();
      counter.reset_peak();
      backward(stage, passed, stashes);
      const double workspace = counter.peak() - start;
      if (is_split_) {
        bytes[stage].deferred = std::max(0.0, held() - before[stage]);
        bytes[stage].input_workspace = workspace;
        compute_->weight_grad(work(stage), *stashes[stage]);
      } else {
        bytes[stage].workspace = workspace;
      }
      stashes[stage].reset();
    }
    (is_split_ ? bytes[1].deferred : bytes[1].activation) /= blocks_;
    if (is_split_) bytes[1].input_workspace -= growth(bytes[1]);
  }

 private:
  // How many more bytes are held while a later block runs its I than before the
  // first block's: the gradient between blocks, and for each block in between
  // what it leaves to W instead of what its forward kept.
  [[nodiscard]] double growth(const LayerBytes& block) const {
    if (blocks_ == 1) return 0;
    const double each = block.deferred - block.activation;
    const double all = each > 0 ? (blocks_ - 1) * each : each;
    return std::max(0.0, boundary_ + all);
  }
  [[nodiscard]] Work work(int stage) const {
    return {.stage = stage, .step = step_};
  }

  void forward(int stage, PayloadPtr& passed,
               std::array<StashPtr, kLayerKinds>& stashes) {
    ForwardResult result = compute_->forward(work(stage), weights_[stage],
                                             std::move(passed), Keep::kGraph);
    passed = std::move(result.output);
    stashes[stage] = std::move(result.stash);
  }

  void backward(int stage, PayloadPtr& passed,
                std::array<StashPtr, kLayerKinds>& stashes) {
    passed = is_split_ ? compute_->input_grad(work(stage), *stashes[stage],
                                              std::move(passed))
                       : compute_->backward(work(stage), *stashes[stage],
                                            std::move(passed));
  }

  at::Device device_;
  bool is_split_;
  int blocks_;
  double boundary_;
  Schedule schedule_;
  std::unique_ptr<StageCompute> compute_;
  std::vector<WeightsPtr> weights_;
  int step_ = 0;
};

LayerBench::LayerBench(const LayerBenchOptions& options)
    : options_(options), blocks_(num_blocks(options.model.shape)) {
  // The updated weights are of no interest; the optimizer only needs some rate
  // and number of steps.
  options_.train.lr = 1e-6;
  options_.train.steps = 1;
  options_.train.warmup = 0;
  options_.train.decay = LrDecay::kConstant;
  ModelDetails details = options.model;
  details.shape.layers = blocks_;
  model_ = make_model(details);
  whole_ = std::make_unique<Pass>(*this, Backwards::kWhole);
  split_ = std::make_unique<Pass>(*this, Backwards::kSplit);
}

LayerBench::~LayerBench() = default;

double LayerBench::bytes_needed(const LayerBenchOptions& options) {
  const ModelShape& shape = options.model.shape;
  const int blocks = num_blocks(shape);
  const std::vector<ModelLayer> layers =
      layers_of(shape, options.train.precision);
  const auto each = [&](int layer) { return layer == 1 ? blocks : 1; };
  const ModelLayer* kinds[] = {&layers.front(), &layers[1], &layers.back()};
  double state = 0;
  double held = 0;
  for (int kind = 0; kind < kLayerKinds; ++kind) {
    const ModelLayer& layer = *kinds[kind];
    // Weights and gradients; for the blocks also two optimizer states.
    const double numbers = kind == 1 ? 4 : 2;
    state +=
        each(kind) * 4 * numbers * (layer.parameters + layer.tied_parameters);
    held += options.micro_batch *
            (each(kind) * estimated_activation_bytes(layer.shape) +
             estimated_workspace_bytes(layer.shape));
  }
  constexpr int kPasses = 2;  // one for each kind of backward
  return kPasses * state + held;
}

BenchTimes LayerBench::time_once() {
  BenchTimes times;
  split_->time(times);
  whole_->time(times);
  times.update_per_parameter =
      whole_->time_update() /
      static_cast<double>(own_numbers(model_, 1, 1 + blocks_));
  return times;
}

std::array<LayerBytes, kLayerKinds> LayerBench::measure_bytes() {
  std::array<LayerBytes, kLayerKinds> bytes;
  whole_->measure(bytes);
  split_->measure(bytes);
  return bytes;
}

}  // namespace chimera
