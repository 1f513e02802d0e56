#include "chimera/config/keys.h"

#include <array>

#include "chimera/base/text.h"
#include "chimera/config/presets.h"

namespace chimera {
namespace {

// Short names, so that each key fits on one line of the table.
using M = ModelConfig;
using E = EmulatedConfig;
using S = ScheduleConfig;
using P = ScheduleSpec;
using T = TrainConfig;
using D = DataConfig;
using R = RunSection;

template <auto member>
KeyField model(RunConfig& config) {
  return &(config.model.*member);
}
template <auto member>
KeyField emulated(RunConfig& config) {
  return &(config.emulated.*member);
}
template <auto member>
KeyField schedule(RunConfig& config) {
  return &(config.schedule.*member);
}
template <auto member>
KeyField spec(RunConfig& config) {
  return &(config.schedule.spec.*member);
}
template <auto member>
KeyField train(RunConfig& config) {
  return &(config.train.*member);
}
template <auto member>
KeyField data(RunConfig& config) {
  return &(config.data.*member);
}
template <auto member>
KeyField run(RunConfig& config) {
  return &(config.run.*member);
}

// The upper limits are far above anything real. They keep products of a few
// such numbers, and times in clock ticks, from overflowing.
constexpr KeyRange kCount = {.least = 1, .most = 1e6};
constexpr KeyRange kMaybeCount = {
    .least = 1, .most = 1e6, .zero_is_absent = true};
// Balanced_cut takes layers^2.
constexpr KeyRange kLayers = {.least = 1, .most = 4096};
constexpr KeyRange kSomeLayers = {.least = 0, .most = 4096};
constexpr KeyRange kSize = {.least = 1, .most = 1e8};
constexpr KeyRange kMs = {.least = 0, .most = 1e9};
constexpr KeyRange kBytes = {.least = 0, .most = 1e15};
constexpr KeyRange kFromZero = {.least = 0};
constexpr KeyRange kFromOne = {.least = 1};
constexpr KeyRange kAboveZero = {.least = 0, .least_excluded = true};
constexpr KeyRange kFraction = {.least = 0, .most = 1, .most_excluded = true};
constexpr KeyRange kSeconds = {.least = 0, .most = 1e9, .least_excluded = true};

constexpr KeyUse kReal = KeyUse::kTransformer;
constexpr KeyUse kLlama = KeyUse::kLlama;
constexpr KeyUse kFake = KeyUse::kEmulated;

// Marks a text key as a path.
ConfigKey path_key(ConfigKey key) {
  key.is_path = true;
  return key;
}

std::vector<ConfigKey> make_keys() {
  return {
      {"model", "kind", model<&M::kind>},
      {"model", "preset", model<&M::preset>, {}, kReal, preset_names()},
      path_key({"model", "init", model<&M::init>, {}, kReal}),
      {"model", "layers", model<&M::layers>, kLayers, kReal},
      {"model", "hidden", model<&M::hidden>, kCount, kReal},
      {"model", "heads", model<&M::heads>, kCount, kReal},
      {"model", "vocab", model<&M::vocab>, kSize, kReal},
      {"model", "seq", model<&M::seq>, kSize, kReal},
      {"model", "positions", model<&M::positions>, kSize, kReal},
      {"model", "ffn", model<&M::ffn>, kSize, kReal},
      {"model", "dropout", model<&M::dropout>, kFraction, kReal},
      {"model", "tie_embeddings", model<&M::tie_embeddings>, {}, kReal},
      {"model", "variant", model<&M::variant>, {}, kLlama},
      {"model", "kv_heads", model<&M::kv_heads>, kCount, kLlama},
      {"model", "head_dim", model<&M::head_dim>, kCount, kLlama},
      {"model", "rope_theta", model<&M::rope_theta>, kFromOne, kLlama},
      {"model", "norm_eps", model<&M::norm_eps>, kFraction, kLlama},
      {"model", "forward_ms", emulated<&E::forward_ms>, kMs, kFake},
      {"model", "input_grad_ms", emulated<&E::input_grad_ms>, kMs, kFake},
      {"model", "weight_grad_ms", emulated<&E::weight_grad_ms>, kMs, kFake},
      {"model", "update_ms", emulated<&E::update_ms>, kMs, kFake},
      {"model", "boundary_bytes", emulated<&E::boundary_bytes>, kBytes, kFake},
      {"model", "grad_bytes", emulated<&E::grad_bytes>, kBytes, kFake},
      {"model", "link_latency_ms", emulated<&E::link_latency_ms>, kMs, kFake},
      {"model", "link_gbps", emulated<&E::link_gbps>, kFromZero, kFake},
      {"model", "node_ranks", emulated<&E::node_ranks>, kCount, kFake},
      {"model", "node_latency_ms", emulated<&E::node_latency_ms>, kMs, kFake},
      {"model", "node_gbps", emulated<&E::node_gbps>, kFromZero, kFake},
      {"schedule", "scheme", spec<&P::scheme>},
      {"schedule", "depth", spec<&P::depth>, kMaybeCount},
      {"schedule", "micros", spec<&P::micros>, kMaybeCount},
      {"schedule", "micro_batch", schedule<&S::micro_batch>, kCount},
      {"schedule", "width", spec<&P::width>, kCount},
      {"schedule", "pipes", spec<&P::pipes>, kCount},
      {"schedule", "scale", spec<&P::scale>},
      {"schedule", "chunks", spec<&P::chunks>, kCount},
      {"schedule", "shape", spec<&P::shape>},
      {"schedule", "cap", spec<&P::cap>, kCount},
      {"schedule", "recompute", schedule<&S::recompute>, kSomeLayers},
      {"schedule", "sync", schedule<&S::sync>},
      {"schedule", "cut", schedule<&S::cut>, kFromZero},
      path_key({"schedule", "file", schedule<&S::file>}),
      {"schedule", "replan_after", schedule<&S::replan_after>, kFromZero},
      {"train", "steps", train<&T::steps>, kFromOne},
      {"train", "lr", train<&T::lr>, kFromZero},
      {"train", "optimizer", train<&T::optimizer>},
      {"train", "betas", train<&T::betas>, kFraction},
      {"train", "eps", train<&T::eps>, kAboveZero},
      {"train", "weight_decay", train<&T::weight_decay>, kFromZero},
      {"train", "decay_all", train<&T::decay_all>},
      {"train", "momentum", train<&T::momentum>, kFraction},
      {"train", "clip", train<&T::clip>, kFromZero},
      {"train", "warmup", train<&T::warmup>, kFromZero},
      {"train", "decay", train<&T::decay>},
      {"train", "min_lr", train<&T::min_lr>, kFromZero},
      {"train", "seed", train<&T::seed>, kFromZero},
      {"train", "threads", train<&T::threads>, {.least = 1, .most = 1024}},
      {"train", "shard_update", train<&T::shard_update>},
      {"train", "on_nan", train<&T::on_nan>},
      {"train", "eval_every", train<&T::eval_every>, kFromZero},
      {"train", "vote", train<&T::vote>},
      {"train", "precision", train<&T::precision>},
      path_key({"data", "path", data<&D::path>}),
      path_key({"data", "eval_path", data<&D::eval_path>}),
      {"data", "order", data<&D::order>},
      path_key({"data", "tokenizer", data<&D::tokenizer>}),
      {"data", "token_type", data<&D::token_type>},
      {"data", "eval_fraction", data<&D::eval_fraction>, kFraction},
      {"data", "weights", data<&D::weights>, kAboveZero},
      {"data", "pack", data<&D::pack>},
      path_key({"run", "dir", run<&R::dir>}),
      {"run", "transport", run<&R::transport>},
      {"run", "device", run<&R::device>},
      {"run", "log_every", run<&R::log_every>, kFromZero},
      {"run", "timeout_s", run<&R::timeout_s>, kSeconds},
      {"run", "trace", run<&R::trace>},
      {"run", "save_every", run<&R::save_every>, kFromZero},
      {"run", "keep", run<&R::keep>, kFromOne},
      {"run", "check_every", run<&R::check_every>, kFromZero},
      {"run", "recover", run<&R::recover>},
      {"run", "tensorboard", run<&R::tensorboard>},
  };
}

template <class T>
Names choices_of(const ConfigKey& key, const T&) {
  return key.choices;
}
template <NamedEnum E>
Names choices_of(const ConfigKey&, const E& value) {
  return names_of(value);
}
template <NamedEnum E>
Names choices_of(const ConfigKey&, const std::optional<E>&) {
  return names_of(E{});
}

}  // namespace

const std::vector<ConfigKey>& config_keys() {
  static const std::vector<ConfigKey> keys = make_keys();
  return keys;
}

const ConfigKey* find_key(std::string_view section, std::string_view name) {
  for (const ConfigKey& key : config_keys()) {
    if (key.section == section && key.name == name) return &key;
  }
  return nullptr;
}

std::vector<std::string> section_names() {
  std::vector<std::string> names;
  for (const ConfigKey& key : config_keys()) {
    if (names.empty() || names.back() != key.section) {
      names.emplace_back(key.section);
    }
  }
  return names;
}

std::vector<std::string> key_names(std::string_view section) {
  std::vector<std::string> names;
  for (const ConfigKey& key : config_keys()) {
    if (key.section == section) names.emplace_back(key.name);
  }
  return names;
}

std::vector<std::string> sections_with(std::string_view name) {
  std::vector<std::string> sections;
  for (const ConfigKey& key : config_keys()) {
    if (key.name == name) sections.emplace_back(key.section);
  }
  return sections;
}

Names choices_of(const ConfigKey& key) {
  RunConfig config;
  return std::visit([&key](auto* member) { return choices_of(key, *member); },
                    key.field(config));
}

std::string full_name(const ConfigKey& key) {
  return std::string(key.section) + "." + std::string(key.name);
}

bool is_used_by(const ConfigKey& key, ModelKind kind) {
  switch (key.use) {
    case KeyUse::kAlways:
      return true;
    case KeyUse::kTransformer:
      return kind != ModelKind::kEmulated;
    case KeyUse::kLlama:
      return kind == ModelKind::kLlama;
    case KeyUse::kEmulated:
      return kind == ModelKind::kEmulated;
  }
  return false;
}

std::string did_you_mean(std::string_view name,
                         const std::vector<std::string>& candidates) {
  const std::string nearest = nearest_name(name, candidates);
  return nearest.empty() ? "" : "did you mean " + nearest + "?";
}

}  // namespace chimera
