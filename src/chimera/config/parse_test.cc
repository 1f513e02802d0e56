// The values, defaults, overrides and presets of a correct run.toml.
#include "chimera/config/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chimera/config/presets.h"

namespace chimera {
namespace {

// One mistake per line, so that a failing test shows them.
std::string text_of(const Diagnostics& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) {
    text += to_string(diagnostic) + "\n";
  }
  return text;
}

RunConfig parsed(const std::string& text,
                 const std::vector<std::string>& overrides = {}) {
  const Result<RunConfig> config =
      parse_run_config(text, "run.toml", overrides);
  if (config) return *config;
  ADD_FAILURE() << text_of(config.errors());
  return {};
}

const char* const kSmall =
    "[model]\n"
    "preset = \"gpt2-tiny\"\n"
    "[schedule]\n"
    "depth = 4\n"
    "micros = 8\n"
    "micro_batch = 2\n";

TEST(Parse, DefaultsAreTheContracts) {
  const RunConfig config = parsed(kSmall);
  EXPECT_EQ(config.model.kind, ModelKind::kGpt2);
  EXPECT_EQ(config.model.init, "");
  EXPECT_EQ(config.model.dropout, 0.0);
  EXPECT_EQ(config.schedule.spec.scheme, "chimera");
  EXPECT_EQ(config.schedule.spec.depth, 4);
  EXPECT_EQ(config.schedule.spec.micros, 8);
  EXPECT_EQ(config.schedule.micro_batch, 2);
  EXPECT_EQ(config.schedule.spec.width, 1);
  EXPECT_EQ(config.schedule.spec.pipes, std::nullopt);
  EXPECT_EQ(config.schedule.spec.scale, Scale::kDirect);
  EXPECT_EQ(config.schedule.spec.chunks, std::nullopt);
  EXPECT_EQ(config.schedule.spec.shape, std::nullopt);
  EXPECT_EQ(config.schedule.spec.cap, std::nullopt);
  EXPECT_FALSE(config.schedule.recompute);
  EXPECT_EQ(config.schedule.sync, Sync::kEagerOpt);
  EXPECT_TRUE(config.schedule.cut.empty());
  EXPECT_EQ(config.schedule.file, "");
  EXPECT_EQ(config.schedule.replan_after, 0);
}

TEST(Parse, TrainDataAndRunDefaultsAreTheContracts) {
  const RunConfig config = parsed(kSmall);
  EXPECT_EQ(config.train.steps, std::nullopt);
  EXPECT_EQ(config.train.lr, std::nullopt);
  EXPECT_EQ(config.train.optimizer, OptimizerKind::kAdamW);
  EXPECT_EQ(config.train.betas, (std::array<double, 2>{0.9, 0.999}));
  EXPECT_EQ(config.train.eps, 1e-8);
  EXPECT_EQ(config.train.weight_decay, 0.01);
  EXPECT_TRUE(config.train.decay_all);
  EXPECT_EQ(config.train.decay, LrDecay::kConstant);
  EXPECT_EQ(config.train.seed, 0);
  EXPECT_EQ(config.train.threads, std::nullopt);
  EXPECT_FALSE(config.train.shard_update);
  EXPECT_EQ(config.train.on_nan, OnNan::kStop);
  EXPECT_EQ(config.data.order, SampleOrder::kShuffled);
  EXPECT_EQ(config.data.tokenizer, "bytes");
  EXPECT_EQ(config.run.transport, TransportKind::kAuto);
  EXPECT_EQ(config.run.device, DeviceKind::kCpu);
  EXPECT_EQ(config.run.log_every, 1);
  EXPECT_EQ(config.run.timeout_s, 300);
  EXPECT_EQ(config.run.save_every, 0);
  EXPECT_EQ(config.run.keep, 2);
  EXPECT_FALSE(config.run.recover);
}

TEST(Parse, EveryModelAndScheduleKeyLandsInItsPlace) {
  const RunConfig config = parsed(R"(
[model]
kind = "bert"
layers = 3
hidden = 24
heads = 2
vocab = 99
seq = 7
positions = 9
ffn = 11
dropout = 0.25
tie_embeddings = false
[schedule]
scheme = "gpipe"
depth = 2
micros = 6
micro_batch = 5
width = 3
pipes = 1
scale = "doubling"
chunks = 4
shape = "vee"
cap = 8
recompute = 3
sync = "end"
cut = [0, 2]
file = "a.sched"
replan_after = 10
)");
  RunConfig expected;
  expected.model = {
      ModelKind::kBert, "", "", 3, 24, 2, 99, 7, 9, 11, 0.25, false};
  expected.schedule = {
      {"gpipe", 2, 6, 1, Scale::kDoubling, 4, Shape::kVee, 8, 3},
      5,
      Recompute::first(3),
      Sync::kEnd,
      {0, 2},
      "a.sched",
      10};
  EXPECT_EQ(config, expected);
}

TEST(Parse, EveryTrainDataAndRunKeyLandsInItsPlace) {
  const RunConfig config = parsed(R"(
[model]
kind = "gpt2"
init = "gpt2/"
[train]
steps = 100
lr = 0.5
optimizer = "sgd"
betas = [0.1, 0.2]
eps = 0.3
weight_decay = 0.4
decay_all = false
momentum = 0.6
clip = 0.7
warmup = 8
decay = "cosine"
min_lr = 0.09
seed = 9000000000
threads = 2
shard_update = true
on_nan = "skip"
eval_every = 5
[data]
path = ["a.txt", "c*.txt"]
eval_path = "b.txt"
order = "sequential"
tokenizer = "gpt2"
token_type = "uint32"
weights = [3, 0.5]
pack = "documents"
[run]
dir = "out"
transport = "mpi"
device = "cuda"
log_every = 2
timeout_s = 1.5
trace = true
save_every = 3
keep = 4
check_every = 5
recover = true
)");
  RunConfig expected;
  expected.model.init = "gpt2/";
  expected.train = {100,
                    0.5,
                    OptimizerKind::kSgd,
                    {0.1, 0.2},
                    0.3,
                    0.4,
                    false,
                    0.6,
                    0.7,
                    8,
                    LrDecay::kCosine,
                    0.09,
                    9000000000,
                    2,
                    true,
                    OnNan::kSkip,
                    5};
  expected.data = {.path = {"a.txt", "c*.txt"},
                   .eval_path = "b.txt",
                   .order = SampleOrder::kSequential,
                   .tokenizer = "gpt2",
                   .token_type = TokenType::kUint32,
                   .weights = {3, 0.5},
                   .pack = Packing::kDocuments};
  expected.run = {
      "out", TransportKind::kMpi, DeviceKind::kCuda, 2, 1.5, true, 3, 4, 5,
      true};
  EXPECT_EQ(config, expected);
}

TEST(Parse, EveryEmulatedKeyLandsInItsPlace) {
  const RunConfig config = parsed(R"(
[model]
kind = "emulated"
forward_ms = [1, 2.5]
input_grad_ms = 3
weight_grad_ms = [4.0]
update_ms = 0.5
boundary_bytes = 1000000000000
grad_bytes = 6
link_latency_ms = 7
link_gbps = 8
node_ranks = 9
node_latency_ms = 10
node_gbps = 11
)");
  RunConfig expected;
  expected.model.kind = ModelKind::kEmulated;
  expected.emulated = {{1, 2.5}, {3}, {4}, 0.5, 1000000000000, 6, 7,
                       8,        9,   10,  11};
  EXPECT_EQ(config, expected);
}

TEST(Parse, ShapeDefaultsFollowSeqAndHidden) {
  const RunConfig config = parsed(
      "[model]\nkind = \"gpt2\"\nlayers = 2\nhidden = 12\nheads = 3\n"
      "vocab = 256\nseq = 5\n");
  EXPECT_EQ(shape_of(config.model),
            (ModelShape{ModelKind::kGpt2, 2, 12, 3, 256, 5, 5, 48, true}));
}

TEST(Parse, PresetFillsWhatTheFileDoesNotGive) {
  const RunConfig config = parsed(
      "[model]\npreset = \"bert-48\"\nlayers = 24\ntie_embeddings = true\n");
  ModelShape expected = *find_preset("bert-48");
  expected.layers = 24;
  expected.tie_embeddings = true;
  EXPECT_EQ(shape_of(config.model), expected);
  EXPECT_EQ(config.model.preset, "bert-48");
}

TEST(Parse, FfnFollowsAHiddenThatDiffersFromThePresets) {
  EXPECT_EQ(parsed("[model]\npreset = \"gpt2-tiny\"\nhidden = 32\n").model.ffn,
            128);
  EXPECT_EQ(parsed("[model]\npreset = \"gpt2-tiny\"\nffn = 7\n").model.ffn, 7);
}

TEST(Parse, InitLeavesTheShapeOpen) {
  const RunConfig config =
      parsed("[model]\nkind = \"bert\"\ninit = \"dir\"\nseq = 8\n");
  EXPECT_EQ(config.model.seq, 8);
  EXPECT_EQ(config.model.positions, std::nullopt);
  EXPECT_EQ(config.model.layers, std::nullopt);
  EXPECT_EQ(config.model.tie_embeddings, std::nullopt);
}

TEST(Parse, AScheduleFileGivesDepthAndMicros) {
  const RunConfig config = parsed(
      "[model]\npreset = \"gpt2-tiny\"\n"
      "[schedule]\nfile = \"my.sched\"\nmicro_batch = 2\n");
  EXPECT_EQ(config.schedule.spec.depth, 0);
}

TEST(Parse, DottedAndInlineTablesAreTheSameToml) {
  EXPECT_EQ(parsed("model.preset = \"gpt2-tiny\"\n"
                   "schedule = {depth = 4, micros = 8, micro_batch = 2}\n"),
            parsed(kSmall));
}

TEST(Parse, OverridesWinOverTheFileAndTheLastOneOverAll) {
  const RunConfig config = parsed(
      kSmall, {"schedule.depth=2", "train.lr = 1e-3", "schedule.depth=8"});
  EXPECT_EQ(config.schedule.spec.depth, 8);
  EXPECT_EQ(config.train.lr, 1e-3);
}

TEST(Parse, OverridesAreTomlAndElsePlainText) {
  const RunConfig config =
      parsed(kSmall, {"schedule.scheme=1f1b", "train.decay=linear",
                      "run.dir=\"123\"", "data.path=", "train.betas=[0.5, 0.6]",
                      "data.eval_path=a=b#c", "run.trace=true"});
  EXPECT_EQ(config.schedule.spec.scheme, "1f1b");
  EXPECT_EQ(config.train.decay, LrDecay::kLinear);
  EXPECT_EQ(config.run.dir, "123");
  EXPECT_TRUE(config.data.path.empty());
  EXPECT_EQ(config.train.betas[1], 0.6);
  EXPECT_EQ(config.data.eval_path, "a=b#c");
  EXPECT_TRUE(config.run.trace);
}

TEST(Parse, AnOverrideCannotSmuggleInASecondKey) {
  const RunConfig config = parsed(kSmall, {"run.dir=1\nx = 2"});
  EXPECT_EQ(config.run.dir, "1\nx = 2");
}

TEST(Parse, AnOverrideRepairsTheFile) {
  const RunConfig config =
      parsed("[model]\npreset = \"gpt2-tinny\"\n", {"model.preset=bert-tiny"});
  EXPECT_EQ(config.model.kind, ModelKind::kBert);
}

TEST(Parse, TrainingNeedsMoreThanASoundConfig) {
  const RunConfig config = parsed(kSmall);
  EXPECT_EQ(text_of(check_for_training(config, "run.toml")),
            "error[E020] run.toml: train.steps is missing; "
            "hint: set steps = 1000 below [train]\n"
            "error[E020] run.toml: train.lr is missing; "
            "hint: set lr = 3e-4 below [train]\n"
            "error[E020] run.toml: data.path is missing; "
            "hint: set path = \"a.txt\" below [data]\n");
  EXPECT_TRUE(check_for_training(parsed(kSmall, {"train.steps=1", "train.lr=1",
                                                 "data.path=x.txt"}))
                  .empty());
}

TEST(Parse, TrainingOfAModelAloneNeedsASchedule) {
  const Diagnostics missing = check_for_training(
      parsed("[model]\npreset = \"gpt2-tiny\"\n",
             {"train.steps=1", "train.lr=1", "data.path=x.txt"}));
  ASSERT_EQ(missing.size(), 3u);
  EXPECT_EQ(missing[0].found, "schedule.depth");
  EXPECT_EQ(missing[1].found, "schedule.micros");
  EXPECT_EQ(missing[2].found, "schedule.micro_batch");
}

TEST(Parse, EmulatedTrainingNeedsNoDataAndNoRate) {
  const RunConfig config = parsed(
      "[model]\nkind = \"emulated\"\nforward_ms = 1\ninput_grad_ms = 1\n"
      "weight_grad_ms = 1\n[schedule]\ndepth = 2\nmicros = 2\nmicro_batch = 1\n"
      "[train]\nsteps = 3\n");
  EXPECT_TRUE(check_for_training(config).empty());
}

TEST(Parse, PathsOfTheFileStartAtItsFolder) {
  const std::string text = std::string(kSmall) +
                           "file = \"a.sched\"\n"
                           "[data]\n"
                           "path = [\"../corpus.txt\", \"/data/*.bin\"]\n"
                           "eval_path = \"/data/eval.txt\"\n"
                           "tokenizer = \"gpt2\"\n"
                           "[run]\n"
                           "dir = \"runs/a\"\n";
  const Result<RunConfig> config =
      parse_run_config(text, "jobs/one/run.toml", {"data.path=here.txt"});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->schedule.file, "jobs/one/a.sched");
  using Paths = std::vector<std::string>;
  EXPECT_EQ(config->data.path, Paths{"here.txt"});
  EXPECT_EQ(config->data.eval_path, "/data/eval.txt");
  EXPECT_EQ(config->data.tokenizer, "jobs/one/gpt2");
  EXPECT_EQ(config->run.dir, "jobs/one/runs/a");
  EXPECT_EQ(parse_run_config(text, "jobs/one/run.toml", {})->data.path,
            (Paths{"jobs/corpus.txt", "/data/*.bin"}));
  EXPECT_EQ(parse_run_config(text, "run.toml", {})->data.path,
            (Paths{"../corpus.txt", "/data/*.bin"}));
}

TEST(Parse, NoPathIsMadeOfAWordOrOfNothing) {
  const Result<RunConfig> config = parse_run_config(
      std::string(kSmall) + "[data]\ntokenizer = \"bytes\"\npath = \"\"\n",
      "jobs/run.toml", {});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->data.tokenizer, "bytes");
  EXPECT_TRUE(config->data.path.empty());
}

TEST(Parse, APresetFromTheCommandLineReplacesTheModelOfTheFile) {
  const char* const text =
      "[model]\nkind = \"bert\"\nlayers = 3\nhidden = 48\ndropout = 0.1\n";
  const RunConfig config =
      parsed(text, {"model.preset=gpt2-tiny", "model.seq=32"});
  EXPECT_EQ(config.model.kind, ModelKind::kGpt2);
  EXPECT_EQ(config.model.layers, find_preset("gpt2-tiny")->layers);
  EXPECT_EQ(config.model.hidden, find_preset("gpt2-tiny")->hidden);
  EXPECT_EQ(config.model.seq, 32);
  EXPECT_EQ(config.model.dropout, 0.1);
  EXPECT_THAT(config.notes,
              ::testing::ElementsAre(
                  "--set model.preset=gpt2-tiny replaces model.kind, "
                  "model.layers, model.hidden of the file"));
}

TEST(Parse, ARunMadeShorterShortensItsWarmup) {
  const std::string text =
      std::string(kSmall) + "[train]\nsteps = 100\nwarmup = 10\n";
  const RunConfig config = parsed(text, {"train.steps=2"});
  EXPECT_EQ(config.train.warmup, 2);
  EXPECT_THAT(config.notes,
              ::testing::ElementsAre(
                  "train.warmup = 10 is shortened to train.steps = 2"));
  // Two overrides that contradict each other are refused.
  EXPECT_FALSE(
      parse_run_config(text, "run.toml", {"train.steps=2", "train.warmup=3"}));
}

}  // namespace
}  // namespace chimera
