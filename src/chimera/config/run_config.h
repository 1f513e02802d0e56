// The configuration of a run: every key of run.toml, with its default. Values
// that the file may leave open for something else to decide (the scheme, a
// Hugging Face directory, the host) are std::optional; parse.h tells what fills
// them in.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "chimera/config/names.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/scheme.h"

namespace chimera {

// Rotary positions: how fast each pair of numbers of a head rotates.
struct Rope {
  double theta = 10000;
  RopeType type = RopeType::kDefault;
  double factor = 1;  // linear, llama3: factor that stretches the context
  // Keys of config.json that only llama3 uses.
  double low_freq_factor = 1;
  double high_freq_factor = 4;
  int original_positions = 8192;

  bool operator==(const Rope&) const = default;
};

// The part of a shape that only the Llama family has.
struct LlamaShape {
  LlamaVariant variant = LlamaVariant::kLlama;
  int kv_heads = 0;  // divides heads
  int head_dim = 0;  // an even number, often hidden / heads
  Rope rope = {};
  int window = 0;  // tokens that a token sees; 0 = all before it

  [[nodiscard]] bool has_qkv_bias() const {
    return variant == LlamaVariant::kQwen2;
  }
  [[nodiscard]] bool has_qk_norm() const {
    return variant == LlamaVariant::kQwen3;
  }
  bool operator==(const LlamaShape&) const = default;
};

// The shape of a transformer, with every value set.
struct ModelShape {
  ModelKind kind = ModelKind::kGpt2;
  int layers = 0;
  int hidden = 0;
  int heads = 0;
  int vocab = 0;
  int seq = 0;        // tokens of one sample
  int positions = 0;  // longest sample, >= seq; learned except in Llama
  int ffn = 0;        // width of the feed-forward layer
  bool tie_embeddings = true;
  LlamaShape llama = {};  // unused by other models

  bool operator==(const ModelShape&) const = default;
};

// [model]. The optional values are the shape. After parsing they are set,
// unless the model is emulated (it has none) or `init` names a directory that
// gives them.
struct ModelConfig {
  ModelKind kind = ModelKind::kGpt2;
  std::string preset;
  std::string init;
  std::optional<int> layers;
  std::optional<int> hidden;
  std::optional<int> heads;
  std::optional<int> vocab;
  std::optional<int> seq;
  std::optional<int> positions;
  std::optional<int> ffn;
  std::optional<double> dropout;  // empty: that of the `init` directory
  std::optional<bool> tie_embeddings;
  // Only for kind = "llama".
  std::optional<LlamaVariant> variant;
  std::optional<int> kv_heads;
  std::optional<int> head_dim;
  std::optional<double> rope_theta;
  std::optional<double> norm_eps;

  bool operator==(const ModelConfig&) const = default;
};

// The part of [model] for kind = "emulated". Each list holds one number (the
// time of one D-th of the model) or one per stage; in an emulated model no list
// is empty.
struct EmulatedConfig {
  std::vector<double> forward_ms;
  std::vector<double> input_grad_ms;
  std::vector<double> weight_grad_ms;
  double update_ms = 0;
  std::int64_t boundary_bytes = 0;
  std::int64_t grad_bytes = 0;
  double link_latency_ms = 0;
  double link_gbps = 0;  // 0 = unlimited
  // Links within a node, and how many ranks share one. The links above are then
  // those between nodes.
  std::optional<int> node_ranks;
  std::optional<double> node_latency_ms;
  std::optional<double> node_gbps;

  bool operator==(const EmulatedConfig&) const = default;
};

// [schedule]. depth and micros are 0 if the file leaves them out because `file`
// gives them.
struct ScheduleConfig {
  ScheduleSpec spec = {.scheme = "chimera"};
  std::optional<int> micro_batch;
  Recompute recompute = false;
  Sync sync = Sync::kEagerOpt;
  std::vector<int> cut;  // first layer of each stage; empty = balanced
  std::string file;
  int replan_after = 0;  // steps; 0 = never

  bool operator==(const ScheduleConfig&) const = default;
};

// [train]. steps and lr are set once check_for_training() finds no errors.
struct TrainConfig {
  std::optional<int> steps;
  std::optional<double> lr;
  OptimizerKind optimizer = OptimizerKind::kAdamW;
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.01;
  bool decay_all = true;  // false: spares biases, norms, embeddings
  double momentum = 0;
  double clip = 0;  // 0 = off
  int warmup = 0;   // steps
  LrDecay decay = LrDecay::kConstant;
  double min_lr = 0;
  std::int64_t seed = 0;
  std::optional<int> threads;  // per worker; empty: the host's share
  bool shard_update = false;
  OnNan on_nan = OnNan::kStop;
  int eval_every = 0;  // steps; 0 = never
  // How updates that depend on the vote of all workers are applied.
  VoteMode vote = VoteMode::kWait;
  Precision precision = Precision::kFloat32;

  bool operator==(const TrainConfig&) const = default;
};

// [data].
struct DataConfig {
  std::vector<std::string> path;  // files and globs
  std::string eval_path;
  SampleOrder order = SampleOrder::kShuffled;
  std::string tokenizer = "bytes";
  TokenType token_type = TokenType::kAuto;  // of .bin files
  double eval_fraction = 0;     // share of each file kept for evaluation
  std::vector<double> weights;  // one per file in `path`; empty: by size
  Packing pack = Packing::kWindows;

  bool operator==(const DataConfig&) const = default;
};

// [run].
struct RunSection {
  std::string dir;
  TransportKind transport = TransportKind::kAuto;
  DeviceKind device = DeviceKind::kCpu;
  int log_every = 1;  // steps; 0 = never
  double timeout_s = 300;
  bool trace = false;
  int save_every = 0;   // steps; 0 = never
  int keep = 2;         // newest checkpoints to keep on disk
  int check_every = 0;  // steps between comparisons of replicas; 0 = at saves
  bool recover = false;
  bool tensorboard = false;  // event files in RUN_DIR/tensorboard

  bool operator==(const RunSection&) const = default;
};

struct RunConfig {
  ModelConfig model;
  EmulatedConfig emulated;
  ScheduleConfig schedule;
  TrainConfig train;
  DataConfig data;
  RunSection run;

  // Sentences for the user about what reading the configuration changed. Not a
  // key: never printed to a file.
  std::vector<std::string> notes;

  bool operator==(const RunConfig&) const = default;
};

// True if the vote of all workers decides about updates in every schedule:
// clipping needs its norm, and skipping on NaN its result.
[[nodiscard]] bool updates_need_vote(const TrainConfig& train);

// True if every value of the shape is set; false for an emulated model.
[[nodiscard]] bool has_shape(const ModelConfig& model);

// The shape of `model` as plain numbers. Values that only a directory gives
// (stretched rotary positions, a window) have their defaults. REQUIRES:
// has_shape(model).
[[nodiscard]] ModelShape shape_of(const ModelConfig& model);

}  // namespace chimera
