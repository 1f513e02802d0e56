// From a path to samples, by the kind of file and of model.
#include "chimera/base/check.h"
#include "chimera/base/text.h"
#include "chimera/data/data_source.h"
#include "chimera/data/jsonl.h"
#include "chimera/data/mapped_file.h"

namespace chimera {
namespace {

Diagnostics check_tokenizer(const DataOptions& options) {
  const bool is_text = format_of(options.path) != DataFormat::kBin;
  if (!is_text || options.tokenizer == "bytes") return {};
  return {{.kind = DiagnosticKind::kData,
           .code = "E506",
           .where = options.path,
           .found = "tokenizer \"" + shown(options.tokenizer) + "\"",
           .needed = "is to come",
           .hint = "use \"bytes\", or tokenize beforehand into a .bin file"}};
}

Diagnostics check_shape(const DataOptions& options) {
  const SpecialIds ids = special_ids(format_of(options.path), options.vocab);
  Diagnostics errors;
  const auto refuse = [&](const std::string& name, int value, int least) {
    if (value >= least) return;
    errors.push_back({.kind = DiagnosticKind::kData,
                      .code = "E512",
                      .where = options.path,
                      .found = name + " = " + std::to_string(value),
                      .needed = "must be at least " + std::to_string(least) +
                                " to cut [CLS] A [SEP] B [SEP]",
                      .hint = "raise model." + name});
  };
  refuse("seq", options.seq, PairLayout::kShortest);
  refuse("vocab", options.vocab, ids.mask + 1);
  if (options.type_vocab < 2) {
    errors.push_back(
        {.kind = DiagnosticKind::kData,
         .code = "E512",
         .where = options.path,
         .found = "a model of type_vocab_size = " +
                  std::to_string(options.type_vocab),
         .needed = "cannot tell A from B in [CLS] A [SEP] B [SEP]",
         .hint = "prepare the samples, or take a model of two token types"});
  }
  return errors;
}

Diagnostics check_length(const DataOptions& options, std::int64_t found,
                         std::int64_t least) {
  if (found >= least) return {};
  return {{.kind = DiagnosticKind::kData,
           .code = "E504",
           .where = options.path,
           .found = std::to_string(found) + " tokens",
           .needed = "are too few for one sample of seq = " +
                     std::to_string(options.seq) + ", which takes " +
                     std::to_string(least),
           .hint = "use a longer file, or lower model.seq"}};
}

// The tokens of a file of which a sample needs `least`.
Result<TokenFile> open_tokens(MappedFile file, const DataOptions& options,
                              std::int64_t least) {
  if (Diagnostics errors = check_tokenizer(options); !errors.empty()) {
    return errors;
  }
  Result<TokenFile> tokens =
      read_tokens(std::move(file), options.vocab, options.scan);
  if (!tokens) return tokens;
  Diagnostics errors = check_length(options, tokens->size(), least);
  if (!errors.empty()) return errors;
  return tokens;
}

Result<WindowSamples> open_windows(MappedFile file,
                                   const DataOptions& options) {
  Result<TokenFile> tokens =
      open_tokens(std::move(file), options, std::int64_t{options.seq} + 1);
  if (!tokens) return tokens.errors();
  return WindowSamples(std::move(tokens).value(), options.seq);
}

Result<PairSamples> open_pairs(MappedFile file, const DataOptions& options) {
  if (Diagnostics errors = check_shape(options); !errors.empty()) {
    return errors;
  }
  const PairLayout layout{.seq = options.seq};
  const SpecialIds ids = special_ids(format_of(options.path), options.vocab);
  Result<TokenFile> tokens =
      open_tokens(std::move(file), options, layout.span());
  if (!tokens) return tokens.errors();
  return PairSamples(std::move(tokens).value(), {.layout = layout,
                                                 .ids = ids,
                                                 .seed = options.seed,
                                                 .vocab = options.vocab});
}

}  // namespace

Result<std::shared_ptr<const DataSource>> open_data(
    const DataOptions& options) {
  CHIMERA_CHECK(options.kind != ModelKind::kEmulated, "needs no data");
  CHIMERA_CHECK(
      options.seq >= 1 && options.vocab >= 1 && options.global_batch >= 1,
      "a shape of nothing");
  Result<MappedFile> file = map_file(options.path);
  if (!file) return file.errors();
  const auto finish =
      [&](auto samples) -> Result<std::shared_ptr<const DataSource>> {
    if (!samples) return samples.errors();
    return std::shared_ptr<const DataSource>(
        new DataSource(options, std::move(samples).value()));
  };
  const JsonlText jsonl{.text = file->bytes(), .path = options.path};
  if (is_causal(options.kind)) {
    return finish(open_windows(std::move(file).value(), options));
  }
  if (format_of(options.path) == DataFormat::kJsonl && is_prepared(jsonl)) {
    return finish(read_prepared(jsonl, {.seq = options.seq,
                                        .vocab = options.vocab,
                                        .type_vocab = options.type_vocab}));
  }
  return finish(open_pairs(std::move(file).value(), options));
}

}  // namespace chimera
