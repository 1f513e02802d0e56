#include "chimera/files/hf_match.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "chimera/base/text.h"
#include "chimera/files/hf_family.h"

namespace chimera {
namespace {

constexpr std::string_view kDecoderWeight = "cls.predictions.decoder.weight";
constexpr std::string_view kDecoderBias = "cls.predictions.decoder.bias";

// A second name for a tensor, used unless a tensor of that name is expected.
struct Alias {
  std::string_view name;
  std::string_view meaning;
};
constexpr auto kAliases = std::to_array<Alias>(
    {{"lm_head.weight", "transformer.wte.weight"},
     {"lm_head.weight", "model.embed_tokens.weight"},
     {kDecoderWeight, "bert.embeddings.word_embeddings.weight"},
     {kDecoderBias, "cls.predictions.bias"}});

std::string label_of(std::string_view name) {
  return "tensor \"" + shown(name) + "\"";
}

std::string modern_name(const std::string& name) {
  for (const auto& [old_end, new_end] :
       {std::pair{"LayerNorm.gamma", "LayerNorm.weight"},
        std::pair{"LayerNorm.beta", "LayerNorm.bias"}}) {
    if (name.ends_with(old_end)) {
      return name.substr(0, name.size() - std::string_view(old_end).size()) +
             new_end;
    }
  }
  return name;
}

bool is_buffer(ModelKind kind, std::string_view name) {
  if (kind == ModelKind::kGpt2) {
    return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
  }
  if (kind == ModelKind::kLlama) return name.ends_with(".rotary_emb.inv_freq");
  if (name.starts_with("bert.")) name.remove_prefix(5);
  return name == "embeddings.position_ids" ||
         name == "embeddings.token_type_ids";
}

// The first two words of a name: "cls.predictions" of
// "cls.predictions.transform.dense.weight".
std::string_view part_of(std::string_view name) {
  const size_t first = name.find('.');
  if (first == std::string_view::npos) return name;
  return name.substr(0, name.find('.', first + 1));
}

bool are_equal(const StoredTensor& a, const StoredTensor& b) {
  return a.info->type == b.info->type && a.info->shape == b.info->shape &&
         std::ranges::equal(a.file->data(*a.info), b.file->data(*b.info));
}

class Matcher {
 public:
  Matcher(const HfDirectory& directory,
          std::span<const ExpectedTensor> expected);
  Result<MatchedTensors> run();

 private:
  void place(const StoredTensor& stored);
  bool place_as(const std::string& name, const StoredTensor& stored);
  void settle_aliases();
  void settle(std::string_view alias, StoredTensor& slot,
              const StoredTensor& stored);
  void check(const ExpectedTensor& expected, const StoredTensor& slot);
  [[nodiscard]] std::set<std::string_view> absent_parts() const;
  void refuse(const char* code, const std::string& where,
              const std::string& found, const std::string& needed,
              const std::string& hint = "");

  const HfDirectory& directory_;
  std::span<const ExpectedTensor> expected_;
  const ModelShape& model_;
  std::map<std::string_view, size_t> slots_;  // name -> index in expected_
  std::map<std::string_view, StoredTensor> aliases_;
  std::vector<const StoredTensor*> extra_;
  std::set<std::string_view> absent_parts_;
  MatchedTensors matched_;
  Diagnostics errors_;
  size_t num_errors_ = 0;
};

Matcher::Matcher(const HfDirectory& directory,
                 std::span<const ExpectedTensor> expected)
    : directory_(directory),
      expected_(expected),
      model_(directory.shape().model) {
  matched_.tensors.resize(expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    CHIMERA_CHECK(slots_.emplace(expected[i].name, i).second,
                  expected[i].name + " is expected twice");
  }
  for (const Alias& alias : kAliases) {
    if (!slots_.contains(alias.name) && slots_.contains(alias.meaning)) {
      aliases_[alias.name] = {};
    }
  }
}

void Matcher::refuse(const char* code, const std::string& where,
                     const std::string& found, const std::string& needed,
                     const std::string& hint) {
  constexpr size_t kEnough = 20;
  if (++num_errors_ > kEnough) return;
  errors_.push_back({.kind = DiagnosticKind::kData,
                     .code = code,
                     .where = where,
                     .found = found,
                     .needed = needed,
                     .hint = hint});
}

// Assigns `stored` to the expected tensor `name`; false if none has that name.
bool Matcher::place_as(const std::string& name, const StoredTensor& stored) {
  StoredTensor* slot = nullptr;
  if (const auto found = slots_.find(name); found != slots_.end()) {
    slot = &matched_.tensors[found->second];
  } else if (const auto alias = aliases_.find(name); alias != aliases_.end()) {
    slot = &alias->second;
  } else {
    return false;
  }
  if (slot->info != nullptr) {
    refuse("E540", stored.file->path(), label_of(stored.info->name),
           "is the same as " + label_of(slot->info->name));
  }
  *slot = stored;
  return true;
}

void Matcher::place(const StoredTensor& stored) {
  const std::string name = modern_name(stored.info->name);
  const std::string prefix(hf_family(model_).prefix);
  if (place_as(name, stored) || place_as(prefix + name, stored)) return;
  if (!is_buffer(model_.kind, name)) extra_.push_back(&stored);
}

void Matcher::settle(std::string_view alias, StoredTensor& slot,
                     const StoredTensor& stored) {
  const bool wins = alias == kDecoderBias && slots_.contains(kDecoderWeight);
  if (slot.info == nullptr || wins) {
    slot = stored;
  } else if (!are_equal(slot, stored)) {
    refuse("E541", stored.file->path(), label_of(stored.info->name),
           "must equal " + label_of(slot.info->name),
           "if they are not tied, set \"tie_word_embeddings\": false in "
           "config.json");
  }
}

void Matcher::settle_aliases() {
  for (const Alias& alias : kAliases) {
    const auto stored = aliases_.find(alias.name);
    const auto meaning = slots_.find(alias.meaning);
    if (stored == aliases_.end() || stored->second.info == nullptr) continue;
    if (meaning == slots_.end()) continue;  // name of another kind of model
    settle(alias.name, matched_.tensors[meaning->second], stored->second);
  }
}

// Optional parts of which the directory has no tensor at all.
std::set<std::string_view> Matcher::absent_parts() const {
  std::set<std::string_view> absent;
  for (const ExpectedTensor& expected : expected_) {
    if (expected.may_be_missing) absent.insert(part_of(expected.name));
  }
  for (size_t i = 0; i < expected_.size(); ++i) {
    if (expected_[i].may_be_missing && matched_.tensors[i].info != nullptr) {
      absent.erase(part_of(expected_[i].name));
    }
  }
  return absent;
}

void Matcher::check(const ExpectedTensor& expected, const StoredTensor& slot) {
  if (slot.info == nullptr) {
    if (expected.may_be_missing &&
        absent_parts_.contains(part_of(expected.name))) {
      matched_.fresh.push_back(expected.name);
      return;
    }
    refuse("E536", directory_.path(), label_of(expected.name), "is missing");
    return;
  }
  const std::string label = label_of(slot.info->name);
  if (slot.info->shape != expected.shape) {
    refuse("E538", slot.file->path(),
           label + " shape = " + shape_text(slot.info->shape),
           "must be " + shape_text(expected.shape));
  }
  if (!is_floating(slot.info->type)) {
    refuse("E539", slot.file->path(),
           fmt::format("{} dtype = {}", label, type_name(slot.info->type)),
           "must be F32, F16, BF16 or F64");
  }
}

Result<MatchedTensors> Matcher::run() {
  for (const StoredTensor& stored : directory_.tensors()) place(stored);
  settle_aliases();
  absent_parts_ = absent_parts();
  for (size_t i = 0; i < expected_.size(); ++i) {
    check(expected_[i], matched_.tensors[i]);
  }
  for (const StoredTensor* extra : extra_) {
    refuse("E537", extra->file->path(), label_of(extra->info->name),
           "does not belong to the model");
  }
  if (num_errors_ > errors_.size()) {
    errors_.push_back(
        {.kind = DiagnosticKind::kData,
         .code = "E542",
         .where = directory_.path(),
         .found = fmt::format("{} more mistakes", num_errors_ - errors_.size()),
         .needed = "are not listed"});
  }
  if (!errors_.empty()) return errors_;
  return std::move(matched_);
}

}  // namespace

Result<MatchedTensors> match_tensors(const HfDirectory& directory,
                                     std::span<const ExpectedTensor> expected) {
  return Matcher(directory, expected).run();
}

}  // namespace chimera
