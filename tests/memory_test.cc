// Compares predicted and measured bytes of every worker, within 5 %. The memory
// of a layer is measured alone, at other sizes than the run's; the memory model
// (plan/memory_model.h) combines schedules, stages and optimizers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "chimera/plan/builtin_profiles.h"
#include "chimera/plan/forecast.h"
#include "chimera/plan/layer_costs.h"
#include "chimera/plan/memory_model.h"
#include "chimera/plan/own_layers.h"
#include "chimera/train/layer_bench.h"
#include "tests/training_cases.h"

namespace chimera {
namespace {

using testing::config_of;
using testing::Extras;
using testing::setup_of;

struct Case {
  ScheduleSpec spec;
  Extras extras;
  OptimizerKind optimizer = OptimizerKind::kAdamW;
  double momentum = 0;
  bool shard_update = false;
  bool late_vote = false;  // with clipping
};

RunConfig config_for(const Case& layout) {
  RunConfig config = config_of(layout.spec, layout.extras);
  config.model.hidden = 64;
  config.model.ffn = 256;
  config.model.heads = 4;
  if (config.model.kind == ModelKind::kLlama) {
    config.model.kv_heads = 2;
    config.model.head_dim = 16;
  }
  config.model.vocab = 512;
  config.model.seq = 32;
  config.model.positions = 32;
  config.schedule.micro_batch = 4;
  config.train.steps = 4;
  config.train.optimizer = layout.optimizer;
  config.train.momentum = layout.momentum;
  config.train.shard_update = layout.shard_update;
  if (layout.late_vote) {
    config.train.clip = 1;
    config.train.vote = VoteMode::kLate;
  }
  return config;
}

// A profile with measured bytes; its times are arbitrary and unused.
Profile measured_bytes(const RunSetup& setup) {
  Profile profile = builtin_profile("p100").value();
  profile.layers.clear();
  const std::vector<ModelLayer> layers =
      layers_of(setup.model.details.shape, setup.config.train.precision);
  const ModelLayer* kinds[] = {&layers.front(), &layers[1], &layers.back()};
  for (const ModelLayer* layer : kinds) {
    profile.layers.push_back({.name = "measured", .shape = layer->shape});
  }
  for (const int micro_batch : {2, 8}) {
    LayerBench bench({.model = setup.model.details,
                      .train = setup.config.train,
                      .micro_batch = micro_batch});
    const auto bytes = bench.measure_bytes();
    for (int kind = 0; kind < kLayerKinds; ++kind) {
      LayerTable& table = profile.layers[kind].table;
      table.micro_batch.push_back(micro_batch);
      for (auto* times :
           {&table.forward_s, &table.input_grad_s, &table.weight_grad_s}) {
        times->push_back(1e-3 * micro_batch);
      }
      table.activation_bytes.push_back(bytes[kind].activation);
      table.workspace_bytes.push_back(bytes[kind].workspace);
      table.deferred_bytes.push_back(bytes[kind].deferred);
      table.input_workspace_bytes.push_back(bytes[kind].input_workspace);
    }
  }
  return profile;
}

std::vector<WorkerBytes> predicted(const RunSetup& setup) {
  const RunConfig& config = setup.config;
  const StagedModel model =
      staged_model(setup.model.details.shape, measured_bytes(setup),
                   {.stages = setup.schedule.stages(),
                    .micro_batch = *config.schedule.micro_batch,
                    .parts = setup.schedule.parts,
                    .optimizer = config.train.optimizer,
                    .momentum = config.train.momentum,
                    .precision = config.train.precision,
                    .recompute = config.schedule.recompute,
                    .cut = setup.cut});
  return worker_bytes(setup.schedule, model,
                      {.recompute = bool{config.schedule.recompute},
                       .shard_update = config.train.shard_update,
                       .has_receive_buffers = false});
}

void expect_near(const Case& layout) {
  const auto setup = setup_of(config_for(layout));
  const std::vector<WorkerBytes> model = predicted(*setup);
  const std::vector<double> run = train(*setup).peak_bytes;
  for (std::size_t rank = 0; rank < run.size(); ++rank) {
    const WorkerBytes& bytes = model[rank % model.size()];
    const double error = bytes.total() / run[rank] - 1;
    const std::string text = fmt::format(
        "{} D={} N={}{} worker {}: predicted {:.0f} (weights {:.0f} "
        "gradients {:.0f} optimizer {:.0f} activations {:.0f} workspace "
        "{:.0f} undo {:.0f}), measured {:.0f}: {:+.1f} %\n",
        layout.spec.scheme, layout.spec.depth, layout.spec.micros,
        text_of(layout.extras), rank, bytes.total(), bytes.weights,
        bytes.gradients, bytes.optimizer, bytes.activations, bytes.workspace,
        bytes.undo, run[rank], 100 * error);
    fmt::print("{}", text);
    EXPECT_LT(std::abs(error), 0.05) << text;
  }
}

const Extras kGpt2{.tied = true};
const Extras kBert{.tied = true, .kind = "bert"};
const Extras kLlama{.tied = true, .kind = "llama"};
const Extras kUntied{};

TEST(Memory, OneWayPipes) {
  for (const Extras& extras : {kGpt2, kBert, kLlama, kUntied}) {
    expect_near({{.scheme = "gpipe", .depth = 2, .micros = 4}, extras});
    expect_near({{.scheme = "1f1b", .depth = 4, .micros = 8}, extras});
  }
  expect_near({{.scheme = "1f1b", .depth = 1, .micros = 2}, kGpt2});
  expect_near({{.scheme = "interleaved", .depth = 2, .micros = 4}, kBert});
}

TEST(Memory, PipesInOppositeDirections) {
  for (const Extras& extras : {kGpt2, kBert}) {
    expect_near({{.scheme = "chimera", .depth = 2, .micros = 2}, extras});
    expect_near({{.scheme = "chimera", .depth = 4, .micros = 8}, extras});
  }
  expect_near({{.scheme = "chimera",
                .depth = 4,
                .micros = 8,
                .scale = Scale::kDoubling},
               kGpt2});
  expect_near(
      {{.scheme = "chimera", .depth = 4, .micros = 4, .scale = Scale::kHalving},
       kGpt2});
  expect_near({{.scheme = "gems", .depth = 4, .micros = 4}, kBert});
}

TEST(Memory, Bf16) {
  for (Extras extras : {kGpt2, kBert, kLlama, kUntied}) {
    extras.precision = Precision::kBf16;
    expect_near({{.scheme = "1f1b", .depth = 4, .micros = 8}, extras});
    expect_near({{.scheme = "chimera", .depth = 4, .micros = 8}, extras});
    expect_near({{.scheme = "zb-v", .depth = 2, .micros = 4}, extras});
    extras.recompute = true;
    expect_near({{.scheme = "chimera", .depth = 2, .micros = 4}, extras});
  }
  Extras tied = kGpt2;
  tied.precision = Precision::kBf16;
  expect_near({.spec = {.scheme = "chimera", .depth = 4, .micros = 4},
               .extras = tied,
               .shard_update = true});
  expect_near({.spec = {.scheme = "chimera", .depth = 4, .micros = 4},
               .extras = tied,
               .late_vote = true});
}

// Compares what the workers keep for their backwards in bf16 and in float32.
TEST(Memory, Bf16TakesTwoThirdsOfTheActivations) {
  for (Extras extras : {kGpt2, kBert, kLlama}) {
    Case layout{{.scheme = "1f1b", .depth = 4, .micros = 8}, extras};
    const auto wide = predicted(*setup_of(config_for(layout)));
    layout.extras.precision = Precision::kBf16;
    const auto narrow = predicted(*setup_of(config_for(layout)));
    for (std::size_t worker = 0; worker < wide.size(); ++worker) {
      EXPECT_LE(narrow[worker].activations, 0.65 * wide[worker].activations)
          << extras.kind << " worker " << worker;
    }
  }
}

// Bytes of the two messages between two stages: an activation, its gradient.
std::array<std::size_t, 2> message_bytes(const Extras& extras) {
  const auto setup = setup_of(
      config_for({{.scheme = "1f1b", .depth = 2, .micros = 2}, extras}));
  const TorchComputeOptions options =
      compute_options(*setup, formats_of(extras.precision));
  const auto lower = make_torch_compute(options, 0);
  const auto upper = make_torch_compute(options, 1);
  PayloadPtr activation =
      lower->forward({}, lower->initial_weights(0), nullptr, Keep::kGraph)
          .output;
  const std::size_t bytes = activation->bytes().size();
  const ForwardResult above =
      upper->forward({.stage = 1}, upper->initial_weights(1),
                     std::move(activation), Keep::kGraph);
  const PayloadPtr gradient =
      upper->backward({.stage = 1}, *above.stash, nullptr);
  return {bytes, gradient->bytes().size()};
}

TEST(Memory, Bf16HalvesTheMessages) {
  for (Extras extras : {kGpt2, kBert, kLlama}) {
    const auto wide = message_bytes(extras);
    extras.precision = Precision::kBf16;
    const auto narrow = message_bytes(extras);
    for (const int way : {0, 1}) EXPECT_EQ(2 * narrow[way], wide[way]);
  }
}

TEST(Memory, SplitBackwards) {
  for (const Extras& extras : {kGpt2, kBert, kLlama}) {
    expect_near({{.scheme = "zb-h1", .depth = 4, .micros = 8}, extras});
    expect_near({{.scheme = "zb-v", .depth = 2, .micros = 4}, extras});
  }
}

// Between I and W a layer holds what own_layers() says: inputs and output
// gradients of matrix products, and nothing else.
TEST(Memory, BetweenIAndWOnlyWhatWNeedsIsHeld) {
  for (const Extras& extras : {kGpt2, kBert, kLlama}) {
    const auto setup = setup_of(
        config_for({{.scheme = "zb-h1", .depth = 2, .micros = 4}, extras}));
    const Profile measured = measured_bytes(*setup);
    const Profile own = own_layers(setup->config.model);
    // Leaves out BERT's head, which computes masked tokens only: short samples
    // have few.
    for (const int kind : {1, 2}) {
      const LayerShape& shape = measured.layers[kind].shape;
      if (kind == 2 && shape.model == ModelKind::kBert) continue;
      const LayerCosts held = layer_costs(measured, shape, 4);
      const LayerCosts needed = layer_costs(own, shape, 4);
      const std::string name = fmt::format("{} layer {}", extras.kind, kind);
      EXPECT_NEAR(held.deferred_bytes / needed.deferred_bytes, 1, 0.05) << name;
      EXPECT_NEAR(held.input_workspace_bytes / needed.input_workspace_bytes, 1,
                  0.05)
          << name;
    }
  }
}

// With dropout attention keeps its probabilities, which W does not need. At the
// peak of a run that splits backwards, less is held than if all of an
// activation stayed until W.
TEST(Memory, TheEndOfIFreesWhatWDoesNotNeed) {
  Extras drops = kGpt2;
  drops.dropout = true;
  const auto setup = setup_of(
      config_for({{.scheme = "zb-h2", .depth = 4, .micros = 8}, drops}));
  const Profile profile = measured_bytes(*setup);
  const double predicted_peak =
      peak_bytes(run_memory(setup->config, profile, setup->schedule)).total();
  Profile whole = profile;
  whole.omega = 1;
  const double until_w =
      peak_bytes(run_memory(setup->config, whole, setup->schedule)).total();
  const std::vector<double> run = train(*setup).peak_bytes;
  const double measured = *std::max_element(run.begin(), run.end());
  fmt::print("predicted {:.0f}, measured {:.0f}, held until W {:.0f}\n",
             predicted_peak, measured, until_w);
  EXPECT_LE(measured, 1.03 * predicted_peak);
  EXPECT_LT(measured, 0.97 * until_w);
  // The simulator must count the same share of an activation until W.
  const StagedModel model = staged_run(setup->config, profile, setup->schedule);
  const StageCosts& second = model.costs.stages[1];
  const double activation =
      second.activation_bytes + model.costs.stages[0].boundary_bytes;
  EXPECT_NEAR(second.omega * activation, model.deferred_bytes[1], 1);
  EXPECT_LT(second.omega, 0.9);
}

// Clipping is active in some of the steps.
TEST(Memory, LateVotes) {
  for (const bool shard_update : {false, true}) {
    expect_near({.spec = {.scheme = "chimera", .depth = 4, .micros = 8},
                 .extras = kGpt2,
                 .shard_update = shard_update,
                 .late_vote = true});
    expect_near({.spec = {.scheme = "1f1b", .depth = 4, .micros = 8},
                 .extras = kBert,
                 .optimizer = OptimizerKind::kSgd,
                 .shard_update = shard_update,
                 .late_vote = true});
  }
}

TEST(Memory, Recomputation) {
  Extras again = kGpt2;
  again.recompute = true;
  expect_near({{.scheme = "1f1b", .depth = 4, .micros = 8}, again});
  expect_near({{.scheme = "chimera", .depth = 4, .micros = 4}, again});
  again.kind = "bert";
  expect_near({{.scheme = "gpipe", .depth = 2, .micros = 8}, again});
}

TEST(Memory, RecomputationInPart) {
  for (const int layers : {1, 2}) {
    Extras some = kGpt2;
    some.recompute = Recompute::first(layers);
    expect_near({{.scheme = "1f1b", .depth = 2, .micros = 4}, some});
    expect_near({{.scheme = "zb-v", .depth = 2, .micros = 4}, some});
    expect_near({{.scheme = "chimera",
                  .depth = 2,
                  .micros = 4,
                  .scale = Scale::kHalving},
                 some});
    some.precision = Precision::kBf16;
    some.kind = "bert";
    expect_near({{.scheme = "chimera", .depth = 2, .micros = 4}, some});
  }
}

// [layers]: measured bytes of the worker that needs most, from no recomputed
// layer to all of them.
std::vector<double> measured_by_layers(Case layout, int most) {
  std::vector<double> peaks;
  for (int layers = 0; layers <= most; ++layers) {
    layout.extras.recompute = Recompute::first(layers);
    const TrainOutcome outcome = train(*setup_of(config_for(layout)));
    peaks.push_back(*std::max_element(outcome.peak_bytes.begin(),
                                      outcome.peak_bytes.end()));
  }
  return peaks;
}

// With a memory between two measured peaks, the model picks the number of
// layers that a search by measurement would pick. Recomputing embeddings frees
// next to nothing, so some peaks are equal.
TEST(Memory, TheFewestLayersThatFitAreTheMeasuredOnes) {
  const Case layout{{.scheme = "gpipe", .depth = 2, .micros = 8}, kGpt2};
  const std::vector<double> peaks = measured_by_layers(layout, 4);
  int steps = 0;
  for (std::size_t layers = 1; layers < peaks.size(); ++layers) {
    EXPECT_LE(peaks[layers], 1.001 * peaks[layers - 1]) << layers;
    if (peaks[layers] > 0.9 * peaks[layers - 1]) continue;
    ++steps;
    const double memory = (peaks[layers] + peaks[layers - 1]) / 2;
    std::size_t chosen = 0;
    for (; chosen < peaks.size(); ++chosen) {
      Case tried = layout;
      tried.extras.recompute = Recompute::first(static_cast<int>(chosen));
      const auto bytes = predicted(*setup_of(config_for(tried)));
      if (peak_bytes(bytes).total() <= memory) break;
    }
    EXPECT_EQ(chosen, layers);
  }
  EXPECT_GE(steps, 2);
}

TEST(Memory, OptimizersAndShards) {
  const ScheduleSpec chimera{.scheme = "chimera", .depth = 4, .micros = 4};
  expect_near({chimera, kGpt2, OptimizerKind::kAdam});
  expect_near({chimera, kGpt2, OptimizerKind::kSgd});
  expect_near({chimera, kBert, OptimizerKind::kSgd, 0.9});
  Extras wide = kGpt2;
  wide.width = 2;
  ScheduleSpec two{.scheme = "chimera", .depth = 2, .micros = 4, .width = 2};
  expect_near({two, wide, OptimizerKind::kAdamW, 0, true});
}

TEST(Memory, DropoutNeedsItsProbabilities) {
  Extras drops = kGpt2;
  drops.dropout = true;
  expect_near({{.scheme = "1f1b", .depth = 2, .micros = 4}, drops});
}

TEST(Memory, StaleWeightsAreKeptInVersions) {
  expect_near({{.scheme = "pipedream", .depth = 4, .micros = 4}, kUntied});
  expect_near({{.scheme = "pipedream-2bw", .depth = 4, .micros = 4}, kUntied});
}

}  // namespace
}  // namespace chimera
