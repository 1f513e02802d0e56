#include "chimera/train/calibrate.h"

#include <fmt/format.h>

#include <algorithm>

#include "chimera/base/median.h"
#include "chimera/model/device_stream.h"
#include "chimera/train/link_bench.h"

namespace chimera {

Calibration::Calibration(Transport& transport, const CalibrateOptions& options)
    : transport_(transport), options_(options), meeting_(transport) {
  compute_on(options_.device);
  // Rank 0's numbers count for all: hosts may differ, but all ranks must agree
  // on how many of them compute at once.
  options_.cores = static_cast<int>(meeting_.agree(options_.cores));
  options_.threads = static_cast<int>(meeting_.agree(options_.threads));
  profile_.name = options_.machine;
  profile_.description = options_.description;
  profile_.source = options_.source;
  profile_.memory_bytes = options_.memory_bytes;
  // Workers with a device each share no processors.
  if (options_.device.is_cpu()) {
    profile_.cores = options_.cores;
    profile_.threads = options_.threads;
  }
  const ModelShape& shape = options_.model.shape;
  const std::vector<ModelLayer> layers =
      layers_of(shape, options_.train.precision);
  const std::string model = std::string(name_of(shape.kind));
  profile_.layers = {
      {.name = model + "-embedding", .shape = layers.front().shape},
      {.name = model + "-block", .shape = layers[1].shape},
      {.name = model + "-head", .shape = layers.back().shape}};
}

std::unique_ptr<LayerRounds> Calibration::layers(int micro_batch) {
  return std::make_unique<LayerRounds>(
      meeting_,
      LayerBenchOptions{.model = options_.model,
                        .train = options_.train,
                        .micro_batch = micro_batch,
                        .threads = options_.threads,
                        .device = options_.device},
      std::max(1, options_.cores / options_.threads));
}

void Calibration::measure_layers(int micro_batch) {
  const std::unique_ptr<LayerRounds> rounds = layers(micro_batch);
  sample_s_ = rounds->pass_seconds() / micro_batch;
  constexpr double kRounds = 7;
  constexpr double kLongSeconds = 10;  // for all rounds of slow layers
  const double most = kLongSeconds / std::max(1e-9, rounds->pass_seconds());
  const int count =
      static_cast<int>(meeting_.agree(std::clamp(most, 1.0, kRounds)));
  for (int round = 0; round < count; ++round) {
    rounds->run(options_.seconds / kRounds);
  }
  if (transport_.rank() == 0) add(*rounds);
}

bool Calibration::has_time_for(int micro_batch) {
  // Two passes for the bytes, one to warm up, one alone and one together.
  constexpr int kFewestPasses = 5;
  const std::chrono::duration<double> so_far = Clock::now() - start_;
  const double end = so_far.count() + kFewestPasses * sample_s_ * micro_batch;
  const bool is_late = options_.most_seconds > 0 && end > options_.most_seconds;
  return meeting_.agree(is_late ? 1 : 0) == 0;
}

void Calibration::add(const LayerRounds& rounds) {
  const LayerSummary summary = rounds.summary();
  for (int kind = 0; kind < kLayerKinds; ++kind) {
    LayerTable& table = profile_.layers[kind].table;
    const LayerTimes& times = summary.times.layers[kind];
    const LayerBytes& bytes = rounds.bytes()[kind];
    // The time of the whole backward is measured, because most schedules run it
    // whole. The two halves only set the ratio in which it is divided.
    const double halves = times.input_grad + times.weight_grad;
    table.micro_batch.push_back(rounds.micro_batch());
    table.forward_s.push_back(times.forward);
    table.input_grad_s.push_back(times.backward * times.input_grad / halves);
    table.weight_grad_s.push_back(times.backward * times.weight_grad / halves);
    table.activation_bytes.push_back(bytes.activation);
    table.workspace_bytes.push_back(bytes.workspace);
    table.deferred_bytes.push_back(bytes.deferred);
    table.input_workspace_bytes.push_back(bytes.input_workspace);
    table.spread.push_back(summary.spread[kind]);
  }
  slowdowns_.push_back(summary.slowdown);
  jitters_.push_back(summary.jitter);
  updates_.push_back(summary.times.update_per_parameter);
  profile_.contention = std::max(0.0, median(slowdowns_) - 1);
  profile_.jitter = std::min(1.0, median(jitters_));
  profile_.update_s_per_parameter = median(updates_);
}

void Calibration::measure_links() {
  if (transport_.size() < 2) return;
  const std::vector<LinkSample> messages =
      measure_messages(transport_, options_.device);
  const std::vector<LinkSample> sums =
      measure_sums(transport_, options_.device);
  if (transport_.rank() != 0) return;
  profile_.link = fit_link(messages);
  profile_.sum = fit_link(sums);
}

Profile calibrate(Transport& transport, const CalibrateOptions& options) {
  Calibration calibration(transport, options);
  const auto tell = [&](std::size_t done, const std::string& next) {
    if (transport.rank() != 0 || !options.on_progress) return;
    options.on_progress(
        static_cast<double>(done) /
            static_cast<double>(options.micro_batches.size() + 1),
        next);
  };
  for (std::size_t i = 0; i < options.micro_batches.size(); ++i) {
    const int size = options.micro_batches[i];
    if (i > 0 && !calibration.has_time_for(size)) {
      tell(i, fmt::format("no micro-batches of {} and more: they would take "
                          "minutes",
                          size));
      break;
    }
    tell(i, "layers at micro-batch " + std::to_string(size));
    calibration.measure_layers(size);
  }
  tell(options.micro_batches.size(), "messages and sums");
  calibration.measure_links();
  tell(options.micro_batches.size() + 1, "");
  return calibration.profile();
}

}  // namespace chimera
