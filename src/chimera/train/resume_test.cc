#include "chimera/train/resume.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <latch>
#include <map>

#include "chimera/checkpoint/catalog.h"
#include "chimera/exec/program.h"
#include "chimera/train/linears_for_tests.h"
#include "chimera/train/replicas.h"
#include "chimera/train/train.h"

namespace chimera {
namespace {

namespace fs = std::filesystem;
using testing::config_of;
using testing::Linears;
using testing::make_linears;
using testing::model_from;
using testing::setup_of;

// [kind, parameter]: hash of the saved numbers.
using Hashes = std::map<std::pair<std::string, std::string>, std::string>;

Hashes hashes_in(const Checkpoint& checkpoint) {
  Hashes hashes;
  for (const ManifestTensor& tensor : checkpoint.manifest().tensors) {
    hashes[{tensor.kind, tensor.parameter}] = tensor.hash;
  }
  return hashes;
}

// Hashes of what all ranks of `setup` would save before their first step.
Hashes hashes_at_start(const RunSetup& setup) {
  Hashes hashes;
  const TorchComputeOptions options = compute_options(setup, {});
  for (int rank = 0; rank < num_ranks(setup.schedule); ++rank) {
    const auto compute = make_torch_compute(options, rank);
    const int worker = place_of(setup.schedule, rank).worker;
    for (const int stage : stages_of(setup.schedule.placement, worker)) {
      const WeightsPtr weights = compute->initial_weights(stage);
      for (const StatePiece& piece :
           compute->state({.stage = stage, .newest = *weights})) {
        const bool is_new =
            hashes
                .emplace(std::pair(piece.kind, piece.parameter),
                         content_hash(
                             {static_cast<const std::byte*>(piece.numbers.data),
                              piece.numbers.bytes()}))
                .second;
        EXPECT_TRUE(is_new) << piece.parameter << " is saved twice";
      }
    }
  }
  return hashes;
}

class Resume : public ::testing::Test {
 protected:
  Resume() {
    std::string name = ::testing::TempDir() + "resume.XXXXXX";
    run_dir_ = mkdtemp(name.data());
  }
  ~Resume() override { fs::remove_all(run_dir_); }

  std::string run_dir_;
};

TEST_F(Resume, EveryLayoutGetsTheSameState) {
  RunConfig config = config_of("chimera");
  config.run.dir = run_dir_;
  config.run.save_every = 3;
  config.train.steps = 3;
  const Linears linears = make_linears(8);
  const TrainOutcome outcome = train(*setup_of(config, model_from(linears)));
  EXPECT_EQ(outcome.saved, 3);
  const std::string path = checkpoint_path(run_dir_, 3);
  const Result<Checkpoint> checkpoint = Checkpoint::open(path);
  ASSERT_TRUE(checkpoint);
  const Hashes saved = hashes_in(*checkpoint);
  EXPECT_EQ(saved.size(), 8 * 2 * 3);

  struct Layout {
    const char* scheme;
    int depth, micros, width;
  };
  for (const auto& [scheme, depth, micros, width] :
       {Layout{"chimera", 4, 4, 1}, Layout{"chimera", 2, 4, 1},
        Layout{"chimera", 2, 2, 2}, Layout{"1f1b", 4, 4, 1},
        Layout{"1f1b", 1, 2, 2}, Layout{"zb-v", 2, 4, 1},
        Layout{"interleaved", 4, 4, 1}, Layout{"planned", 4, 4, 1}}) {
    SCOPED_TRACE(scheme);
    RunConfig other = config_of(scheme);
    other.schedule.spec.depth = depth;
    other.schedule.spec.micros = micros;
    other.schedule.spec.width = width;
    const Linears fresh = make_linears(8);
    const auto setup = setup_of(other, model_from(fresh), {.checkpoint = path});
    EXPECT_EQ(setup->start.step, 3);
    EXPECT_EQ(hashes_at_start(*setup), saved);
  }
}

// [rank]: bytes of the numbers that it has saved.
std::vector<std::int64_t> bytes_by_rank(const Checkpoint& checkpoint) {
  std::vector<std::int64_t> bytes(checkpoint.manifest().files.size());
  for (const ManifestTensor& tensor : checkpoint.manifest().tensors) {
    bytes[tensor.file] += tensor.count * sizeof(float);
  }
  return bytes;
}

// [rank]: bytes that it expects to save, before its first step.
std::vector<std::int64_t> expected_bytes(const RunSetup& setup) {
  std::vector<std::int64_t> bytes(num_ranks(setup.schedule));
  const TorchComputeOptions options = compute_options(setup, {});
  for (int rank = 0; rank < num_ranks(setup.schedule); ++rank) {
    const auto compute = make_torch_compute(options, rank);
    const int worker = place_of(setup.schedule, rank).worker;
    for (const int stage : stages_of(setup.schedule.placement, worker)) {
      bytes[rank] += compute->state_bytes(stage);
    }
  }
  return bytes;
}

TEST_F(Resume, BytesToSaveAreKnownBeforeTheFirstStep) {
  struct Layout {
    const char* scheme;
    int width;
    bool shard_update;
  };
  for (const auto& [scheme, width, shard_update] :
       {Layout{"chimera", 1, false}, Layout{"chimera", 2, true},
        Layout{"1f1b", 2, true}, Layout{"zb-v", 1, false}}) {
    SCOPED_TRACE(scheme);
    RunConfig config = config_of(scheme);
    config.schedule.spec.width = width;
    config.train.shard_update = shard_update;
    config.train.steps = 2;
    config.run.save_every = 2;
    config.run.dir = run_dir_ + "/" + scheme + std::to_string(width);
    const Linears linears = make_linears(40);
    const auto setup = setup_of(config, model_from(linears));
    const std::vector<std::int64_t> expected = expected_bytes(*setup);
    (void)train(*setup);
    const Result<Checkpoint> checkpoint =
        Checkpoint::open(checkpoint_path(config.run.dir, 2));
    ASSERT_TRUE(checkpoint);
    EXPECT_EQ(bytes_by_rank(*checkpoint), expected);
  }
}

TEST_F(Resume, NamesOfAForgedCheckpointAreShownEscaped) {
  RunConfig config = config_of("1f1b");
  config.schedule.spec.depth = 1;
  config.run.dir = run_dir_;
  config.run.save_every = 1;
  config.train.steps = 1;
  const Linears linears = make_linears(1);
  (void)train(*setup_of(config, model_from(linears, "\x1b]0;forged\a")));
  const Result<std::unique_ptr<RunSetup>> setup =
      set_up(config, {.checkpoint = checkpoint_path(run_dir_, 1)},
             model_from(linears));
  ASSERT_FALSE(setup);
  bool is_named = false;
  for (const Diagnostic& error : setup.errors()) {
    EXPECT_EQ(error.code, "E584");
    const std::string text = to_string(error);
    EXPECT_EQ(text.find_first_of("\x1b\a"), std::string::npos);
    is_named = is_named || text.find("forged") != std::string::npos;
  }
  EXPECT_TRUE(is_named);
}

TEST_F(Resume, AnotherOptimizerIsRefused) {
  RunConfig config = config_of("chimera");
  config.run.dir = run_dir_;
  config.run.save_every = 1;
  config.train.steps = 1;
  const Linears linears = make_linears(8);
  (void)train(*setup_of(config, model_from(linears)));
  const auto resume = [&](const RunConfig& now) {
    return set_up(now, {.checkpoint = checkpoint_path(run_dir_, 1)},
                  model_from(linears));
  };
  for (const OptimizerKind kind : {OptimizerKind::kAdam, OptimizerKind::kSgd}) {
    config.train.optimizer = kind;
    const auto setup = resume(config);
    ASSERT_FALSE(setup);
    EXPECT_EQ(setup.errors()[0].code, "E585");
    EXPECT_THAT(setup.errors()[0].found,
                ::testing::StartsWith("train.optimizer = "));
    EXPECT_THAT(setup.errors()[0].needed, ::testing::HasSubstr("adamw"));
  }
  config.train.optimizer = OptimizerKind::kAdamW;
  config.train.weight_decay = 0.5;
  const auto setup = resume(config);
  ASSERT_TRUE(setup);
  EXPECT_THAT((*setup)->notices, ::testing::Contains(::testing::StartsWith(
                                     "train.weight_decay = 0.5, but")));
}

// Makes a layer fail once, on one worker.
class FailsOnce {
 public:
  explicit FailsOnce(int forwards) : left_(forwards) {}
  void operator()() {
    if (--left_ == 0) throw std::runtime_error("a cosmic ray");
  }

 private:
  std::atomic<int> left_;
};

OwnModel failing(const Linears& linears, FailsOnce& fails) {
  OwnModel own = model_from(linears);
  own.layers[5] = make_module_layer(
      "layer5", linears[5].ptr(),
      [&fails](torch::nn::LinearImpl& linear, const at::Tensor& x,
               const LayerContext& context) {
        if (context.training) fails();
        return linear.forward(x).tanh();
      });
  return own;
}

// Keeps the Recovered report and calls a function.
struct RecoveryObserver : TrainObserver {
  void on_recovered(const Recovered& report) override {
    recovered.push_back(report);
    if (then) then();
  }

  std::vector<Recovered> recovered;
  std::function<void()> then;
};

// Fails in each forward of a step in turn: 4 micro-batches, 5 steps.
TEST_F(Resume, AFailedWorkerIsReplaced) {
  RunConfig config = config_of("chimera");
  config.run.dir = run_dir_ + "/whole";
  const Linears whole = make_linears(8);
  const TrainOutcome expected = train(*setup_of(config, model_from(whole)));
  config.run.recover = true;
  for (int forwards = 1; forwards <= 4 * 5; forwards += 3) {
    SCOPED_TRACE(forwards);
    config.run.dir = run_dir_ + "/" + std::to_string(forwards);
    FailsOnce fails(forwards);
    const Linears linears = make_linears(8);
    const auto setup = setup_of(config, failing(linears, fails));
    ASSERT_TRUE(setup->recovers);
    RecoveryObserver observer;
    const TrainOutcome outcome = train(*setup, observer);
    const std::vector<Recovered>& recovered = observer.recovered;
    ASSERT_EQ(recovered.size(), 1);
    EXPECT_EQ(recovered[0].reason, "a cosmic ray");
    EXPECT_EQ(recovered[0].step, (forwards - 1) / 4);
    EXPECT_EQ(outcome.steps, testing::kSteps);
    ASSERT_EQ(outcome.weights.size(), expected.weights.size());
    for (std::size_t i = 0; i < outcome.weights.size(); ++i) {
      EXPECT_TRUE(outcome.weights[i].value.equal(expected.weights[i].value))
          << outcome.weights[i].name;
    }
  }
}

TEST_F(Resume, WhatFailsAgainEndsTheRun) {
  RunConfig config = config_of("chimera");
  config.run.dir = run_dir_;
  config.run.recover = true;
  const Linears linears = make_linears(8);
  OwnModel own = model_from(linears);
  std::atomic<bool> has_failed = false;  // only one of the two holders fails
  own.layers[5] =
      make_module_layer("layer5", linears[5].ptr(),
                        [&](torch::nn::LinearImpl& linear, const at::Tensor& x,
                            const LayerContext& context) {
                          if (context.step == 2 && !has_failed.exchange(true)) {
                            throw std::runtime_error("always here");
                          }
                          return linear.forward(x).tanh();
                        });
  const auto setup = setup_of(config, std::move(own));
  RecoveryObserver observer;
  observer.then = [&] { has_failed = false; };
  EXPECT_THROW((void)train(*setup, observer), std::runtime_error);
  EXPECT_EQ(observer.recovered.size(), 1);
}

TEST_F(Resume, TwoFailedWorkersEndTheRunAtOnce) {
  RunConfig config = config_of("chimera");
  config.run.dir = run_dir_;
  config.run.recover = true;
  const Linears linears = make_linears(8);
  OwnModel own = model_from(linears);
  std::latch both(2);
  own.layers[5] =
      make_module_layer("layer5", linears[5].ptr(),
                        [&](torch::nn::LinearImpl& linear, const at::Tensor& x,
                            const LayerContext& context) {
                          if (context.step == 2) {
                            both.arrive_and_wait();
                            throw std::runtime_error("on both workers");
                          }
                          return linear.forward(x).tanh();
                        });
  const auto setup = setup_of(config, std::move(own));
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THROW((void)train(*setup), std::runtime_error);
  // The run ends long before run.timeout_s, the time that ranks wait for a lost
  // one.
  EXPECT_LT(std::chrono::steady_clock::now() - start,
            std::chrono::duration<double>(config.run.timeout_s / 3));
}

TEST_F(Resume, ReplicasThatDifferAreNamed) {
  RunConfig config = config_of("chimera");
  config.run.check_every = 2;
  config.run.recover = true;  // no effect: no replica can be trusted
  config.run.dir = run_dir_;
  const Linears linears = make_linears(8);
  const auto setup = setup_of(config, model_from(linears));
  std::atomic<int> calls = 0;
  const ParameterInit init = setup->start.init;
  setup->start.init = [&](const ParameterSpec& spec) {
    at::Tensor value = init(spec);
    const bool is_hit = spec.name == "layer5.weight" && calls++ == 0;
    return is_hit ? value * (1 + 1e-6) : value;
  };
  int steps = 0;
  try {
    StepObserver count([&](const StepReport&) { ++steps; });
    (void)train(*setup, count);
    FAIL() << "nobody has noticed";
  } catch (const ReplicaError& error) {
    EXPECT_THAT(error.what(),
                ::testing::MatchesRegex(".*after step 2.*stage 2: worker . "
                                        "against worker .;.*"));
  }
  EXPECT_EQ(steps, 2);
  EXPECT_TRUE(list_checkpoints(run_dir_).empty());
}

TEST_F(Resume, RecoveryIsOffWhereAStageHasOneHolder) {
  RunConfig config = config_of("1f1b");
  config.run.recover = true;
  config.run.dir = run_dir_;
  const Linears linears = make_linears(8);
  const auto setup = setup_of(config, model_from(linears));
  EXPECT_FALSE(setup->recovers);
  EXPECT_THAT(setup->notices, ::testing::Contains(::testing::HasSubstr(
                                  "stage 0 lives on one worker only")));
}

}  // namespace
}  // namespace chimera
