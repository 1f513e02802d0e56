#include "chimera/config/print.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "chimera/config/parse.h"
#include "chimera/config/presets.h"

namespace chimera {
namespace {

using rc::gen::arbitrary;
using rc::gen::element;
using rc::gen::inRange;

// Any finite number of a range, not only round ones.
double number_in(double least, double most) {
  const double share = *inRange(0, 1 << 30) / 1073741824.0;
  return least + share * (most - least);
}

std::optional<int> maybe_count() {
  if (*arbitrary<bool>()) return std::nullopt;
  return *inRange(1, 1000001);
}

// Text that breaks a careless writer.
std::string any_text() {
  const auto pieces =
      *rc::gen::container<std::vector<std::string>>(element<std::string>(
          "a", " ", "\"", "'", "\\", "\n", "\r", "\t", "\x01", "\x7f", "#", "=",
          "[", "\"\"\"", "\\u0041", "\xc3\xa9", "\xf0\x9f\x90\x89"));
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

void add_llama(ModelConfig& model) {
  model.variant = *element(LlamaVariant::kLlama, LlamaVariant::kMistral,
                           LlamaVariant::kQwen2, LlamaVariant::kQwen3);
  model.kv_heads = *element(1, *model.heads);
  model.head_dim = 2 * *inRange(1, 100);
  model.rope_theta = number_in(1, 1e6);
  model.norm_eps = number_in(0, 0.999);
}

ModelConfig any_transformer() {
  ModelConfig model;
  model.kind = *element(ModelKind::kGpt2, ModelKind::kBert, ModelKind::kLlama);
  model.layers = *inRange(1, 100);
  model.heads = *inRange(1, 100);
  model.hidden = *model.heads * *inRange(1, 100);
  model.vocab = *inRange(1, 100000000);
  model.positions = *inRange(1, 5000);
  model.seq = *inRange(1, *model.positions + 1);
  model.ffn = *inRange(1, 5000);
  model.dropout = number_in(0, 0.999);
  model.tie_embeddings = *arbitrary<bool>();
  if (model.kind == ModelKind::kLlama) add_llama(model);
  return model;
}

// A model with open values instead of a shape.
ModelConfig any_init() {
  ModelConfig model;
  model.kind = *element(ModelKind::kGpt2, ModelKind::kBert, ModelKind::kLlama);
  model.init = "x" + any_text();
  if (*arbitrary<bool>()) model.layers = *inRange(1, 4097);
  model.seq = maybe_count();
  return model;
}

ModelConfig any_preset() {
  const Names names = preset_names();
  const std::string name(names[*inRange<std::size_t>(0, names.size())]);
  const ModelShape shape = *find_preset(name);
  ModelConfig model;
  model.preset = name;
  model.kind = shape.kind;
  model.layers = *inRange(1, 100);
  model.hidden = shape.hidden;
  model.heads = shape.heads;
  model.vocab = shape.vocab;
  model.seq = shape.seq;
  model.positions = shape.positions;
  model.ffn = shape.ffn;
  model.dropout = number_in(0, 0.999);
  model.tie_embeddings = *arbitrary<bool>();
  if (model.kind == ModelKind::kLlama) add_llama(model);
  return model;
}

EmulatedConfig any_emulated() {
  const auto stages = *inRange<std::size_t>(1, 6);
  const auto times = [stages] {
    std::vector<double> list(*arbitrary<bool>() ? stages : 1);
    for (double& time : list) time = number_in(0, 1e9);
    return list;
  };
  EmulatedConfig emulated;
  emulated.forward_ms = times();
  emulated.input_grad_ms = times();
  emulated.weight_grad_ms = times();
  emulated.update_ms = number_in(0, 1e-3);
  emulated.boundary_bytes = *inRange<std::int64_t>(0, 1000000000000000);
  emulated.grad_bytes = *inRange<std::int64_t>(0, 1000000000000000);
  emulated.link_latency_ms = number_in(0, 10);
  emulated.link_gbps = number_in(0, 1e20);
  if (*arbitrary<bool>()) {
    emulated.node_ranks = *inRange(1, 1000);
    emulated.node_latency_ms = number_in(0, 10);
    emulated.node_gbps = number_in(0, 1e20);
  }
  return emulated;
}

ScheduleConfig any_schedule() {
  ScheduleConfig schedule;
  ScheduleSpec& spec = schedule.spec;
  spec.scheme = any_text();
  spec.depth = *inRange(1, 1000);
  spec.micros = *inRange(1, 1000);
  schedule.micro_batch = 2 * *inRange(1, 1000);
  spec.width = *inRange(1, 1000);
  spec.pipes = maybe_count();
  spec.scale = *element(Scale::kDirect, Scale::kDoubling, Scale::kHalving);
  spec.chunks = maybe_count();
  if (*arbitrary<bool>()) spec.shape = *element(Shape::kVee, Shape::kWave);
  if (*arbitrary<bool>()) spec.cap = number_in(1, 1e6);
  schedule.recompute = Recompute::first(*inRange(0, 5));
  if (*arbitrary<bool>()) schedule.recompute = true;
  schedule.sync = *element(Sync::kEagerOpt, Sync::kEager, Sync::kEnd);
  for (int layer = 0; layer < *inRange(0, 5); ++layer) {
    schedule.cut.push_back(3 * layer);
  }
  schedule.file = any_text();
  schedule.replan_after = *inRange(0, 1000);
  return schedule;
}

TrainConfig any_train() {
  TrainConfig train;
  train.steps = maybe_count();
  if (*arbitrary<bool>()) train.lr = number_in(0.1, 1);
  train.optimizer = *element(OptimizerKind::kAdamW, OptimizerKind::kAdam,
                             OptimizerKind::kSgd);
  train.betas = {number_in(0, 0.99), number_in(0, 0.99)};
  train.eps = number_in(1e-12, 1e-6);
  train.weight_decay = number_in(0, 1);
  train.decay_all = *arbitrary<bool>();
  if (train.optimizer == OptimizerKind::kSgd)
    train.momentum = number_in(0, 0.9);
  train.clip = number_in(0, 10);
  train.warmup = train.steps ? *inRange(0, *train.steps + 1) : 7;
  train.decay =
      *element(LrDecay::kConstant, LrDecay::kLinear, LrDecay::kCosine);
  train.min_lr = number_in(0, 0.1);
  train.seed = *inRange<std::int64_t>(0, INT64_MAX);
  if (*arbitrary<bool>()) train.threads = *inRange(1, 1025);
  train.shard_update = *arbitrary<bool>();
  train.on_nan = *element(OnNan::kStop, OnNan::kSkip);
  train.eval_every = *inRange(0, 1000);
  train.vote = *element(VoteMode::kWait, VoteMode::kLate);
  train.precision = *element(Precision::kFloat32, Precision::kBf16);
  return train;
}

DataConfig any_data() {
  DataConfig data{
      .order = *element(SampleOrder::kShuffled, SampleOrder::kSequential),
      .tokenizer = any_text(),
      .token_type = *element(TokenType::kAuto, TokenType::kUint32),
      .pack = *element(Packing::kWindows, Packing::kDocuments)};
  const int files = *inRange(0, 4);
  for (int i = 0; i < files; ++i) {
    data.path.push_back("f" + any_text());
    data.weights.push_back(number_in(1e-3, 10));
  }
  if (*arbitrary<bool>()) {
    data.eval_path = any_text();
  } else {
    data.eval_fraction = number_in(0, 0.9);
  }
  return data;
}

RunConfig any_config() {
  RunConfig config;
  switch (*inRange(0, 4)) {
    case 0:
      config.model = any_transformer();
      break;
    case 1:
      config.model = any_init();
      break;
    case 2:
      config.model = any_preset();
      break;
    default:
      config.model.kind = ModelKind::kEmulated;
      config.emulated = any_emulated();
  }
  if (*arbitrary<bool>()) config.schedule = any_schedule();
  config.train = any_train();
  config.data = any_data();
  if (config.model.kind == ModelKind::kBert) {
    config.data.pack = Packing::kWindows;
  }
  config.run = {any_text(),
                *element(TransportKind::kAuto, TransportKind::kThreads,
                         TransportKind::kMpi),
                *element(DeviceKind::kCpu, DeviceKind::kCuda),
                *inRange(0, 1000),
                number_in(1e-3, 1e6),
                *arbitrary<bool>(),
                *inRange(0, 1000),
                *inRange(1, 1000),
                *arbitrary<bool>()};
  return config;
}

RC_GTEST_PROP(Print, ReadsBackAsAnEqualConfig, ()) {
  const RunConfig config = any_config();
  const std::string text = print_run_config(config);
  const Result<RunConfig> again = parse_run_config(text, "printed.toml", {});
  RC_LOG() << text;
  if (!again) RC_FAIL(to_string(again.errors().front()));
  RC_ASSERT(*again == config);
}

TEST(Print, WritesEveryKeyOfASmallRun) {
  const Result<RunConfig> config = parse_run_config(
      "[model]\nkind = \"emulated\"\nforward_ms = 1.5\ninput_grad_ms = [1, 2]\n"
      "weight_grad_ms = [1]\n[schedule]\ndepth = 2\nmicros = 4\n"
      "micro_batch = 1\nshape = \"linear\"\n[run]\ndir = \"a \\\"b\\\"\"\n",
      "run.toml", {});
  ASSERT_TRUE(config);
  EXPECT_EQ(print_run_config(*config), R"([model]
kind = "emulated"
forward_ms = 1.5
input_grad_ms = [1, 2]
weight_grad_ms = 1
update_ms = 0
boundary_bytes = 0
grad_bytes = 0
link_latency_ms = 0
link_gbps = 0

[schedule]
scheme = "chimera"
depth = 2
micros = 4
micro_batch = 1
width = 1
scale = "direct"
shape = "linear"
recompute = false
sync = "eager-opt"
cut = []
file = ""
replan_after = 0

[train]
optimizer = "adamw"
betas = [0.9, 0.999]
eps = 1e-08
weight_decay = 0.01
decay_all = true
momentum = 0
clip = 0
warmup = 0
decay = "constant"
min_lr = 0
seed = 0
shard_update = false
on_nan = "stop"
eval_every = 0
vote = "wait"
precision = "float32"

[data]
path = ""
eval_path = ""
order = "shuffled"
tokenizer = "bytes"
token_type = "auto"
eval_fraction = 0
weights = []
pack = "none"

[run]
dir = "a \"b\""
transport = "auto"
device = "cpu"
log_every = 1
timeout_s = 300
trace = false
save_every = 0
keep = 2
check_every = 0
recover = false
tensorboard = false
)");
}

TEST(Print, AModelAloneStaysAModelAlone) {
  const Result<RunConfig> config =
      parse_run_config("[model]\npreset = \"bert-tiny\"\n", "run.toml", {});
  ASSERT_TRUE(config);
  const std::string text = print_run_config(*config);
  EXPECT_EQ(text.find("[schedule]"), std::string::npos);
  EXPECT_NE(text.find("layers = 4\n"), std::string::npos);
}

}  // namespace
}  // namespace chimera
