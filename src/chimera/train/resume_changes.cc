#include "chimera/train/resume_changes.h"

#include <fmt/format.h>

#include <array>
#include <map>

#include "chimera/base/text.h"
#include "chimera/config/paths.h"
#include "chimera/config/print.h"

namespace chimera {
namespace {

using Keys = std::map<std::string, std::string>;  // "train.lr" -> "0.001"

constexpr auto kModelKeys = std::to_array<const char*>(
    {"model.kind", "model.layers", "model.hidden", "model.heads", "model.vocab",
     "model.positions", "model.ffn", "model.tie_embeddings"});

struct NotedKey {
  const char* name;
  const char* effect;
};
constexpr auto kNotedKeys = std::to_array<NotedKey>(
    {{"data.path", "other samples from here on"},
     {"data.tokenizer", "other samples from here on"},
     {"data.token_type", "other samples from here on"},
     {"data.eval_fraction", "other samples from here on"},
     {"data.weights", "other samples from here on"},
     {"data.pack", "other samples from here on"},
     {"data.order", "samples go on in another order"},
     {"model.seq", "samples of another length from here on"},
     {"train.precision", "it counts from here on"},
     {"train.betas", "it counts from here on"},
     {"train.eps", "it counts from here on"},
     {"train.weight_decay", "it counts from here on"},
     {"train.decay_all", "it counts from here on"},
     {"train.momentum", "it counts from here on"}});

Keys keys_of(const std::string& printed) {
  Keys keys;
  for (const std::string& line : key_lines(printed)) {
    const std::size_t at = line.find(" = ");
    if (at != std::string::npos) keys[line.substr(0, at)] = line.substr(at + 3);
  }
  return keys;
}

class Comparison {
 public:
  Comparison(std::string where, Keys before, Keys now)
      : where_(std::move(where)),
        before_(std::move(before)),
        now_(std::move(now)) {}

  void compare_model() {
    for (const char* key : kModelKeys) {
      if (differs(key)) refuse_model(key, now_[key], before_[key]);
    }
  }

  // Compares what only a Hugging Face directory tells; run.toml has no keys for
  // it.
  void compare_details(const HfShape& before, const HfShape& now) {
    const auto check = [this](const char* name, auto was, auto is) {
      if (is != was) {
        refuse_model(name, fmt::format("{}", is), fmt::format("{}", was));
      }
    };
    check("layer_norm_epsilon", before.layer_norm_epsilon,
          now.layer_norm_epsilon);
    check("type_vocab_size", before.type_vocab, now.type_vocab);
    check("pad_token_id", before.padding_id, now.padding_id);
    const auto rates = [](const HfShape& shape) {
      return fmt::format("{} (embeddings), {} (hidden), {} (attention)",
                         shape.embedding_dropout, shape.hidden_dropout,
                         shape.attention_dropout);
    };
    if (rates(before) != rates(now)) {
      note("dropout", rates(now), rates(before), "it counts from here on");
    }
  }

  void compare_optimizer() {
    const auto refuse_key = [this](const char* key) {
      refuse("E585", key, now_[key], before_[key],
             "this is a checkpoint of another optimizer");
    };
    if (differs("train.optimizer")) refuse_key("train.optimizer");
    // Without momentum there is no optimizer state to continue from.
    constexpr const char* kMomentum = "train.momentum";
    if (differs(kMomentum) &&
        (now_[kMomentum] == "0" || before_[kMomentum] == "0")) {
      refuse_key(kMomentum);
    }
  }

  void note_others() {
    for (const NotedKey& key : kNotedKeys) {
      if (!differs(key.name)) continue;
      note(key.name, now_[key.name], before_[key.name], key.effect);
    }
  }

  Changes changes;

 private:
  // True if both runs have the key with different values. A key may be missing
  // in one of them, because keys come and go with versions.
  [[nodiscard]] bool differs(const char* key) const {
    const auto was = before_.find(key);
    const auto is = now_.find(key);
    return was != before_.end() && is != now_.end() &&
           was->second != is->second;
  }
  void refuse(const char* code, const std::string& key, const std::string& is,
              const std::string& was, const char* hint) {
    changes.errors.push_back(
        {.kind = DiagnosticKind::kCheckpoint,
         .code = code,
         .where = where_,
         .found = fmt::format("{} = {}", key, shown(is)),
         .needed = fmt::format("must be {}, as it was so far", shown(was)),
         .hint = hint});
  }
  void refuse_model(const std::string& key, const std::string& is,
                    const std::string& was) {
    // Only the first error carries the hint.
    const bool is_first = changes.errors.empty();
    refuse("E584", key, is, was,
           is_first ? "this is a checkpoint of another model: give the model "
                      "as it was, or start anew in another --run-dir"
                    : "");
  }
  void note(const std::string& key, const std::string& is,
            const std::string& was, const char* effect) {
    changes.notes.push_back(
        fmt::format("{} = {}, but the run so far had {}: {}", key, shown(is),
                    shown(was), effect));
  }

  std::string where_;
  Keys before_, now_;
};

}  // namespace

Changes changes_since(const SavedRun& saved, const RunSetup& setup) {
  const Manifest& manifest = saved.checkpoint->manifest();
  Comparison comparison(
      saved.checkpoint->path(), keys_of(manifest.config),
      keys_of(print_run_config(with_absolute_paths(setup.config))));
  comparison.compare_model();
  if (saved.shape) comparison.compare_details(*saved.shape, setup.hf_shape);
  if (manifest.updates > 0) comparison.compare_optimizer();
  comparison.note_others();
  return std::move(comparison.changes);
}

}  // namespace chimera
