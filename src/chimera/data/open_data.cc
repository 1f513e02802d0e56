// Turns paths into samples, by the kind of file and the kind of model.
#include <cmath>
#include <optional>

#include "chimera/base/check.h"
#include "chimera/base/text.h"
#include "chimera/data/data_source.h"
#include "chimera/data/find_files.h"
#include "chimera/data/jsonl.h"
#include "chimera/data/mapped_file.h"
#include "chimera/data/special_ids.h"
#include "chimera/tokenizer/open_tokenizer.h"

namespace chimera {
namespace {

using Samples = DataSource::Samples;

constexpr size_t kEnough = 10;  // mistakes to report

// Opens the files of one source; they share tokenizer and special ids.
class Opener {
 public:
  explicit Opener(const DataOptions& options) : options_(options) {}

  // Refuses a tokenizer that is broken or larger than the model's vocabulary.
  [[nodiscard]] Diagnostics open_tokenizer() {
    if (options_.tokenizer == "bytes") return {};
    Result<Tokenizer> opened = chimera::open_tokenizer(options_.tokenizer);
    if (!opened) return opened.errors();
    tokenizer_ = std::move(opened).value();
    const auto vocab = static_cast<std::uint64_t>(options_.vocab);
    if (tokenizer_->num_ids() <= vocab) return {};
    const std::string ids = std::to_string(tokenizer_->num_ids());
    return {{.kind = DiagnosticKind::kData,
             .code = "E518",
             .where = options_.tokenizer,
             .found = "a vocabulary of " + ids + " ids",
             .needed = "is larger than model.vocab = " + std::to_string(vocab),
             .hint = "set model.vocab = " + ids}};
  }

  // Opens the samples of a file, numbered from `first_id` on.
  [[nodiscard]] Result<Samples> open(const std::string& path,
                                     std::int64_t first_id) const {
    Result<MappedFile> file = map_file(path);
    if (!file) return file.errors();
    if (is_causal(options_.kind)) {
      return open_causal(std::move(file).value());
    }
    const JsonlText jsonl{.text = file->bytes(), .path = path};
    if (format_of(path) == DataFormat::kJsonl && is_prepared(jsonl)) {
      Result<PreparedSamples> samples =
          read_prepared(jsonl, {.seq = options_.seq,
                                .vocab = options_.vocab,
                                .type_vocab = options_.type_vocab});
      if (!samples) return samples.errors();
      return Samples(std::move(samples).value());
    }
    return open_pairs(std::move(file).value(), first_id);
  }

 private:
  [[nodiscard]] Result<TokenFile> read(MappedFile file,
                                       bool finds_documents) const {
    return read_tokens(std::move(file),
                       {.vocab = options_.vocab,
                        .tokenizer = tokenizer_ ? &*tokenizer_ : nullptr,
                        .type = options_.token_type,
                        .scan = options_.scan,
                        .finds_documents = finds_documents});
  }

  [[nodiscard]] Result<Samples> open_causal(MappedFile file) const {
    const bool packs = options_.pack == Packing::kDocuments;
    Result<TokenFile> tokens = read(std::move(file), packs);
    if (!tokens) return tokens.errors();
    const std::string path = tokens->path();
    const std::int64_t size = tokens->size();
    if (packs) {
      PackedSamples samples(std::move(tokens).value(), options_.seq);
      if (samples.size() == 0) return too_few(path, size, 2);
      return Samples(std::move(samples));
    }
    const std::int64_t least = std::int64_t{options_.seq} + 1;
    if (size < least) return too_few(path, size, least);
    return Samples(WindowSamples(std::move(tokens).value(), options_.seq));
  }

  [[nodiscard]] Result<Samples> open_pairs(MappedFile file,
                                           std::int64_t first_id) const {
    Result<SpecialIds> ids =
        tokenizer_ ? special_ids(*tokenizer_, options_.tokenizer)
                   : special_ids(format_of(file.path()), options_.vocab);
    if (!ids) return ids.errors();
    Diagnostics errors = check_shape(file.path(), *ids);
    if (!errors.empty()) return errors;
    Result<TokenFile> tokens = read(std::move(file), true);
    if (!tokens) return tokens.errors();
    const std::string path = tokens->path();
    const std::int64_t size = tokens->size();
    PairSamples samples(std::move(tokens).value(), {.seq = options_.seq,
                                                    .ids = *ids,
                                                    .seed = options_.seed,
                                                    .vocab = options_.vocab,
                                                    .first_id = first_id});
    if (samples.size() == 0) return too_few(path, size, 2);
    return Samples(std::move(samples));
  }

  [[nodiscard]] Diagnostics check_shape(const std::string& path,
                                        const SpecialIds& ids) const {
    Diagnostics errors;
    const auto refuse = [&](const std::string& name, int value, int least) {
      if (value >= least) return;
      errors.push_back({.kind = DiagnosticKind::kData,
                        .code = "E512",
                        .where = path,
                        .found = name + " = " + std::to_string(value),
                        .needed = "must be at least " + std::to_string(least) +
                                  " to cut [CLS] A [SEP] B [SEP]",
                        .hint = "raise model." + name});
    };
    refuse("seq", options_.seq, PairLayout::kShortest);
    refuse("vocab", options_.vocab, ids.mask + 1);
    if (options_.type_vocab < 2) {
      errors.push_back(
          {.kind = DiagnosticKind::kData,
           .code = "E512",
           .where = path,
           .found = "a model of type_vocab_size = " +
                    std::to_string(options_.type_vocab),
           .needed = "cannot tell A from B in [CLS] A [SEP] B [SEP]",
           .hint = "prepare the samples, or take a model of two token types"});
    }
    return errors;
  }

  [[nodiscard]] Diagnostics too_few(const std::string& path, std::int64_t found,
                                    std::int64_t least) const {
    return {{.kind = DiagnosticKind::kData,
             .code = "E504",
             .where = path,
             .found = std::to_string(found) + " tokens",
             .needed = "are too few for one sample of seq = " +
                       std::to_string(options_.seq) + ", which takes " +
                       std::to_string(least),
             .hint = "use a longer file, or lower model.seq"}};
  }

  const DataOptions& options_;
  std::optional<Tokenizer> tokenizer_;  // empty: bytes
};

// Number of a file's samples that are kept for evaluation.
std::int64_t num_evaluated(const DataOptions& options, std::int64_t samples) {
  return std::llround(static_cast<double>(samples) * options.eval_fraction);
}

Diagnostics check_split(const DataOptions& options, std::int64_t left,
                        std::int64_t samples) {
  if (left > 0) return {};
  const bool trains = options.part == DataPart::kTraining;
  return {{.kind = DiagnosticKind::kData,
           .code = "E504",
           .where = options.paths[0],
           .found = std::to_string(samples) + " samples",
           .needed =
               std::string("leave none to ") + (trains ? "train" : "evaluate") +
               " with data.eval_fraction = " + number(options.eval_fraction),
           .hint = trains ? "lower it, or use more data"
                          : "raise it, or use more data"}};
}

}  // namespace

Result<std::shared_ptr<const DataSource>> open_data(
    const DataOptions& options) {
  CHIMERA_CHECK(options.kind != ModelKind::kEmulated, "needs no data");
  CHIMERA_CHECK(
      options.seq >= 1 && options.vocab >= 1 && options.global_batch >= 1,
      "a shape of nothing");
  CHIMERA_CHECK(!options.paths.empty(), "no file");
  Opener opener(options);
  Diagnostics errors = opener.open_tokenizer();
  const Result<std::vector<DataFile>> found = find_files(options.paths);
  if (!found) {
    errors.insert(errors.end(), found.errors().begin(), found.errors().end());
  }
  if (!errors.empty()) return errors;
  std::vector<DataSource::File> files;
  std::int64_t first_id = 0;
  std::int64_t left = 0;
  for (const DataFile& named : *found) {
    Result<Samples> samples = opener.open(named.path, first_id);
    if (!samples) {
      errors.insert(errors.end(), samples.errors().begin(),
                    samples.errors().end());
      if (errors.size() >= kEnough) break;
      continue;
    }
    const std::int64_t size =
        std::visit([](const auto& s) { return s.size(); }, *samples);
    const std::int64_t evaluated = num_evaluated(options, size);
    const bool trains = options.part == DataPart::kTraining;
    DataSource::File file{.samples = std::move(samples).value(),
                          .entry = named.entry,
                          .first = trains ? 0 : size - evaluated,
                          .count = trains ? size - evaluated : evaluated};
    if (auto* pairs = std::get_if<PairSamples>(&file.samples)) {
      pairs->keep(file.first, file.count);
    }
    first_id += size;
    left += file.count;
    files.push_back(std::move(file));
  }
  if (errors.empty()) errors = check_split(options, left, first_id);
  if (!errors.empty()) return errors;
  return std::shared_ptr<const DataSource>(
      new DataSource(options, std::move(files)));
}

}  // namespace chimera
