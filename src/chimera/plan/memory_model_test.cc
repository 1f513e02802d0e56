#include "chimera/plan/memory_model.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "chimera/config/presets.h"
#include "chimera/plan/builtin_profiles.h"
#include "chimera/schedule/held.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/scheme.h"

namespace chimera {
namespace {

constexpr double kAct = 100, kBoundary = 7, kWeights = 40;

StagedModel even_model(int stages, double boundary = kBoundary) {
  StagedModel model;
  const StageCosts stage{.weight_bytes = kWeights,
                         .gradient_bytes = kWeights,
                         .optimizer_bytes = 2 * kWeights,
                         .activation_bytes = kAct,
                         .boundary_bytes = boundary};
  model.costs.stages.assign(stages, stage);
  model.costs.stages.back().boundary_bytes = 0;
  model.workspace_bytes.assign(stages, 5);
  model.deferred_bytes.assign(stages, kAct);
  model.input_workspace_bytes = model.workspace_bytes;
  return model;
}

Schedule made(const std::string& scheme, int depth, int micros) {
  return make_schedule({.scheme = scheme, .depth = depth, .micros = micros})
      .value();
}

TEST(MemoryModel, CountsWhatEachWorkerOf1F1BHolds) {
  const auto workers = worker_bytes(made("1f1b", 4, 8), even_model(4), {});
  for (int worker = 0; worker < 4; ++worker) {
    EXPECT_EQ(workers[worker].activations,
              (4 - worker) * (kAct + (worker > 0 ? kBoundary : 0)));
    EXPECT_EQ(workers[worker].weights, kWeights);
    EXPECT_EQ(workers[worker].gradients, kWeights);
    EXPECT_EQ(workers[worker].optimizer, 2 * kWeights);
    const bool end = worker == 0 || worker == 3;
    EXPECT_EQ(workers[worker].boundary, (end ? 1 : 2) * kBoundary);
    EXPECT_EQ(workers[worker].workspace, 5 + (worker < 3 ? kBoundary : 0));
  }
  EXPECT_EQ(peak_bytes(workers), workers[0]);
}

// Table 2 of the paper: two copies of the weights, activations from
// (D/2 + 1) Ma to D Ma.
TEST(MemoryModel, ChimeraHasTwoStagesAndThePapersActivations) {
  const auto workers =
      worker_bytes(made("chimera", 8, 8), even_model(8, 0), {});
  EXPECT_EQ(workers[0].weights, 2 * kWeights);
  EXPECT_EQ(workers[0].activations, 5 * kAct);
  EXPECT_EQ(workers[3].activations, 8 * kAct);
}

TEST(MemoryModel, RecomputationKeepsInputsAndOneActivation) {
  const auto workers =
      worker_bytes(made("gpipe", 4, 8), even_model(4), {.recompute = true});
  EXPECT_EQ(workers[0].activations, kAct);
  EXPECT_EQ(workers[3].activations, 8 * kBoundary + kAct);
}

// F keeps what is not recomputed; R adds the rest.
TEST(MemoryModel, RecomputationInPartKeepsTheOthers) {
  constexpr double kKept = 30;
  StagedModel model = even_model(4);
  for (StageCosts& stage : model.costs.stages) stage.kept_bytes = kKept;
  const Schedule schedule = made("gpipe", 4, 8);
  const auto workers = worker_bytes(schedule, model, {.recompute = true});
  EXPECT_EQ(workers[0].activations, 7 * kKept + kAct);
  EXPECT_EQ(workers[3].activations, 8 * kBoundary + 7 * kKept + kAct);
  const auto lowered =
      worker_bytes(lower(schedule, {.recompute = Recompute::first(1)}), model,
                   {.recompute = true});
  EXPECT_EQ(lowered, workers);
}

TEST(MemoryModel, ShardedOptimizersShareOverPipesAndCopies) {
  Schedule schedule = made("chimera", 4, 4);
  schedule.width = 3;
  const auto workers =
      worker_bytes(schedule, even_model(4), {.shard_update = true});
  EXPECT_DOUBLE_EQ(workers[0].optimizer, 2 * 2 * kWeights / (2 * 3));
}

TEST(MemoryModel, AsynchronousSchemesKeepVersions) {
  const auto pipedream =
      worker_bytes(made("pipedream", 4, 4), even_model(4, 0), {});
  EXPECT_EQ(pipedream[0].weights, 4 * kWeights);
  EXPECT_EQ(pipedream[3].weights, kWeights);
  EXPECT_EQ(pipedream[0].activations, 4 * kAct);
  const auto twice =
      worker_bytes(made("pipedream-2bw", 4, 4), even_model(4), {});
  EXPECT_EQ(twice[2].weights, 2 * kWeights);
}

TEST(MemoryModel, ACheckpointIsCopiedOnceByAllHolders) {
  const auto alone =
      worker_bytes(made("1f1b", 4, 4), even_model(4), {.saves = true});
  EXPECT_EQ(alone[0].checkpoint, 3 * kWeights);
  const auto both =
      worker_bytes(made("chimera", 4, 4), even_model(4), {.saves = true});
  EXPECT_EQ(both[0].checkpoint, 2 * 3 * kWeights / 2);
  const auto twice =
      worker_bytes(made("pipedream-2bw", 4, 4), even_model(4), {.saves = true});
  EXPECT_EQ(twice[0].checkpoint, 4 * kWeights);
  const auto never = worker_bytes(made("1f1b", 4, 4), even_model(4), {});
  EXPECT_EQ(never[0].total() + 3 * kWeights, alone[0].total());
}

// A worker that holds both ends has the tied weight only once.
TEST(MemoryModel, TiedWeightsCountOncePerWorker) {
  StagedModel model = even_model(4);
  model.costs.tied_bytes = 1000;
  model.tied_optimizer_bytes = 2000;
  const auto linear = worker_bytes(made("1f1b", 4, 4), model, {});
  EXPECT_EQ(linear[0].weights, kWeights + 1000);
  EXPECT_EQ(linear[1].weights, kWeights);
  EXPECT_EQ(linear[3].optimizer, 2 * kWeights + 2000);
  const auto both =
      worker_bytes(made("chimera", 4, 4), model, {.shard_update = true});
  EXPECT_EQ(both[0].weights, 2 * kWeights + 1000);
  EXPECT_EQ(both[0].gradients, 2 * kWeights + 1000);
  EXPECT_EQ(both[3].optimizer, 2 * kWeights + 1000);
}

// After I, a split backward holds less for W than the forward kept.
TEST(MemoryModel, BetweenTheHalvesOfABackwardLessIsKept) {
  StagedModel model = even_model(4, 0);
  const Schedule schedule = made("zb-h1", 4, 8);
  const double all = worker_bytes(schedule, model, {})[3].activations;
  model.deferred_bytes.assign(4, kAct / 4);
  EXPECT_LT(worker_bytes(schedule, model, {})[3].activations, all);
}

// With equal stages the bytes are proportional to the count of held.h.
RC_GTEST_PROP(MemoryModel, AgreesWithPeakHeld, ()) {
  const auto scheme = *rc::gen::elementOf(std::vector<std::string>{
      "gpipe", "1f1b", "interleaved", "gems", "chimera", "zb-h1", "zb-v",
      "hanayo", "planned", "pipedream", "pipedream-2bw"});
  const int depth = 2 * *rc::gen::inRange(1, 4);
  const int micros = depth * *rc::gen::inRange(1, 4);
  const Schedule schedule = made(scheme, depth, micros);
  const bool recompute = *rc::gen::arbitrary<bool>();
  const StagedModel model = even_model(schedule.stages(), 0);
  const auto bytes = worker_bytes(schedule, model, {.recompute = recompute});
  const auto held = peak_held(lower(schedule, {.recompute = recompute}));
  for (int worker = 0; worker < depth; ++worker) {
    RC_ASSERT(std::abs(bytes[worker].activations -
                       held[worker] * schedule.chunks() * kAct) < 1e-9);
  }
}

// Figure 15: GPT-2 on 2,048 workers with D = 32 and B = 1 fits 16 GB without
// recomputation; both end workers hold the embeddings.
TEST(MemoryModel, PapersGpt2FitsAsPublished) {
  const StagedModel model =
      staged_model(find_preset("gpt2-64").value(),
                   builtin_profile("p100").value(), {.stages = 32});
  Schedule schedule = made("chimera", 32, 32);
  schedule.width = 64;
  const auto workers = worker_bytes(schedule, model, {});
  EXPECT_LT(peak_bytes(workers).total(), 16e9);
  EXPECT_GT(workers[0].weights, workers[15].weights);
}

TEST(StagedModel, HoldersShareAnUpdate) {
  const ModelShape shape = find_preset("gpt2-tiny").value();
  const Profile profile = builtin_profile("p100").value();
  const Costs all = staged_model(shape, profile, {.stages = 2}).costs;
  const Costs shared =
      staged_model(shape, profile, {.stages = 2, .update_holders = 4}).costs;
  EXPECT_GT(all.stages[0].update, 0);
  EXPECT_DOUBLE_EQ(4 * shared.stages[0].update, all.stages[0].update);
  EXPECT_DOUBLE_EQ(4 * shared.tied_update, all.tied_update);
}

TEST(StagedModel, GivesHeavyEndsFewerBlocks) {
  const StagedModel model =
      staged_model(find_preset("gpt2-64").value(),
                   builtin_profile("p100").value(), {.stages = 16});
  const int last = 66 - model.cut.back();
  const int middle = model.cut[8] - model.cut[7];
  EXPECT_LT(last - 1, middle);
  double bytes = 0;
  for (const StageCosts& stage : model.costs.stages) {
    bytes += stage.weight_bytes;
    EXPECT_EQ(stage.optimizer_bytes, 2 * stage.weight_bytes);
  }
  EXPECT_EQ(bytes, 4.0 * 1389327360);
}

}  // namespace
}  // namespace chimera
