#include "chimera/train/calibrate.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "chimera/exec/gather.h"
#include "chimera/train/link_bench.h"

namespace chimera {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<long>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Standard deviation over mean, without the slowest tenth: what a busy machine
// adds now and then is not the layer's.
double spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  values.resize(std::max<std::size_t>(1, values.size() * 9 / 10));
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size())) / mean;
}

// Of each kind of layer, and of all together with the update: medians.
struct Measured {
  BenchTimes times;
  std::array<double, kLayerKinds> spread = {};
  double block_s = 0;  // all of a block
};

Measured summary_of(const std::vector<BenchTimes>& all) {
  Measured measured;
  const auto middle = [&](const auto& value_of) {
    std::vector<double> values;
    values.reserve(all.size());
    for (const BenchTimes& times : all) values.push_back(value_of(times));
    return median(std::move(values));
  };
  for (int kind = 0; kind < kLayerKinds; ++kind) {
    const auto of = [&](double LayerTimes::*what) {
      return middle(
          [&](const BenchTimes& times) { return times.layers[kind].*what; });
    };
    measured.times.layers[kind] = {
        of(&LayerTimes::forward), of(&LayerTimes::backward),
        of(&LayerTimes::input_grad), of(&LayerTimes::weight_grad)};
    std::vector<double> sums;
    sums.reserve(all.size());
    for (const BenchTimes& times : all) {
      sums.push_back(times.layers[kind].forward + times.layers[kind].backward);
    }
    measured.spread[kind] = spread_of(std::move(sums));
  }
  measured.times.update_per_parameter = middle(
      [](const BenchTimes& times) { return times.update_per_parameter; });
  const LayerTimes& block = measured.times.layers[1];
  measured.block_s = block.forward + block.backward;
  return measured;
}

class Calibration {
 public:
  Calibration(Transport& transport, const CalibrateOptions& options)
      : transport_(transport), options_(options) {}

  Profile run() {
    start_profile();
    const auto sizes = static_cast<double>(options_.micro_batches.size());
    for (std::size_t i = 0; i < options_.micro_batches.size(); ++i) {
      const int size = options_.micro_batches[i];
      tell(static_cast<double>(i) / (sizes + 1),
           "layers at micro-batch " + std::to_string(size));
      measure_layers(size);
    }
    profile_.contention = std::max(0.0, median(slowdowns_) - 1);
    profile_.update_s_per_parameter = median(updates_);
    tell(sizes / (sizes + 1), "messages and sums");
    measure_links();
    tell(1, "");
    return profile_;
  }

 private:
  void start_profile() {
    profile_.name = options_.machine;
    profile_.description = options_.description;
    profile_.source = options_.source;
    profile_.memory_bytes = options_.memory_bytes;
    profile_.cores = options_.cores;
    profile_.threads = options_.threads;
    const ModelShape& shape = options_.model.shape;
    const std::vector<ModelLayer> layers = layers_of(shape);
    const std::string model = std::string(name_of(shape.kind));
    profile_.layers = {
        {.name = model + "-embedding", .shape = layers.front().shape},
        {.name = model + "-block", .shape = layers[1].shape},
        {.name = model + "-head", .shape = layers.back().shape}};
  }

  void tell(double share, const std::string& next) const {
    if (transport_.rank() == 0 && options_.on_progress) {
      options_.on_progress(share, next);
    }
  }

  // A number that rank 0 has, on all ranks; and a place where all meet.
  double agree(double number) {
    transport_.start_vote(step_, {.loss = transport_.rank() == 0 ? number : 0});
    return transport_.wait_vote(step_++).loss;
  }

  void measure_layers(int micro_batch) {
    LayerBench bench({.model = options_.model,
                      .train = options_.train,
                      .micro_batch = micro_batch,
                      .threads = options_.threads});
    const auto bytes = bench.measure_bytes();
    const auto start = Clock::now();
    (void)bench.time_once();  // allocators and caches are warm after two
    const std::chrono::duration<double> once = Clock::now() - start;
    constexpr double kFewest = 7, kMost = 200;
    const int repeats = static_cast<int>(
        agree(std::clamp(options_.seconds / once.count(), kFewest, kMost)));
    std::vector<BenchTimes> alone;
    if (transport_.rank() == 0) alone = repeat(bench, repeats);
    agree(0);
    const int busy = std::max(1, options_.cores / options_.threads);
    std::vector<BenchTimes> together;
    if (transport_.rank() < busy) together = repeat(bench, repeats);
    agree(0);
    if (transport_.rank() != 0) return;
    const Measured best = summary_of(alone);
    add_rows(micro_batch, best, bytes);
    updates_.push_back(best.times.update_per_parameter);
    const bool all_busy = std::min(busy, transport_.size()) == busy;
    if (busy > 1 && all_busy) {
      slowdowns_.push_back(summary_of(together).block_s / best.block_s);
    }
  }

  static std::vector<BenchTimes> repeat(LayerBench& bench, int repeats) {
    std::vector<BenchTimes> all;
    all.reserve(repeats);
    for (int i = 0; i < repeats; ++i) all.push_back(bench.time_once());
    return all;
  }

  void add_rows(int micro_batch, const Measured& measured,
                const std::array<LayerBytes, kLayerKinds>& bytes) {
    for (int kind = 0; kind < kLayerKinds; ++kind) {
      LayerTable& table = profile_.layers[kind].table;
      const LayerTimes& times = measured.times.layers[kind];
      // Most schedules run whole backwards, so those count; the halves say how
      // they divide.
      const double halves = times.input_grad + times.weight_grad;
      table.micro_batch.push_back(micro_batch);
      table.forward_s.push_back(times.forward);
      table.input_grad_s.push_back(times.backward * times.input_grad / halves);
      table.weight_grad_s.push_back(times.backward * times.weight_grad /
                                    halves);
      table.activation_bytes.push_back(bytes[kind].activation);
      table.workspace_bytes.push_back(bytes[kind].workspace);
      table.deferred_bytes.push_back(bytes[kind].deferred);
      table.spread.push_back(measured.spread[kind]);
    }
  }

  void measure_links() {
    if (transport_.size() < 2) return;
    const std::vector<LinkSample> messages =
        measure_messages(transport_, step_);
    constexpr int kApart = 1000;
    step_ += kApart;
    const std::vector<LinkSample> sums = measure_sums(transport_, step_);
    if (transport_.rank() != 0) return;
    profile_.link = fit_link(messages);
    profile_.sum = fit_link(sums);
  }

  Transport& transport_;
  const CalibrateOptions& options_;
  Profile profile_;
  std::vector<double> slowdowns_;
  std::vector<double> updates_;
  int step_ = 0;
};

}  // namespace

Profile calibrate(Transport& transport, const CalibrateOptions& options) {
  return Calibration(transport, options).run();
}

}  // namespace chimera
