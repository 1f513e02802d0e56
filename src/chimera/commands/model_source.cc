#include "chimera/commands/model_source.h"

#include <algorithm>
#include <filesystem>
#include <memory>

#include "chimera/base/files.h"
#include "chimera/base/text.h"
#include "chimera/config/parse.h"
#include "chimera/data/token_file.h"
#include "chimera/files/hf_directory.h"
#include "chimera/model/generate.h"
#include "chimera/tokenizer/encoder.h"
#include "chimera/tokenizer/open_tokenizer.h"
#include "chimera/train/stored_weights.h"

namespace chimera {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

Diagnostic no_model(const std::string& path, const std::string& found,
                    const std::string& needed, const std::string& hint) {
  return {.kind = DiagnosticKind::kData,
          .code = "E528",
          .where = path,
          .found = found,
          .needed = needed,
          .hint = hint};
}

bool has_tokenizer(const std::string& directory) {
  const fs::path path(directory);
  return is_there(path / "tokenizer.json") || is_there(path / "vocab.json") ||
         is_there(path / "encoder.json") || is_there(path / "vocab.txt");
}

bool reads(const RunConfig& run, DataFormat format) {
  return std::ranges::any_of(run.data.path, [&](const std::string& path) {
    return format_of(path) == format;
  });
}

// Whether a run trained on token ids instead of text.
bool reads_ids(const RunConfig& run) { return reads(run, DataFormat::kBin); }

// Whether a run may have trained on prepared samples, whose ids are those of a
// tokenizer that the run does not know.
bool may_read_prepared(const RunConfig& run) {
  return run.model.kind == ModelKind::kBert && reads(run, DataFormat::kJsonl);
}

}  // namespace

Result<ModelSource> find_model(const std::string& path) {
  const fs::path folder(path);
  if (is_there(folder / "config.json")) return ModelSource{.weights = path};
  if (!is_there(folder / "config.toml")) {
    std::error_code ignored;
    const bool is_folder = fs::is_directory(folder, ignored);
    return no_model(path, is_folder ? "the directory" : "the model",
                    is_folder ? "has neither config.json nor config.toml"
                    : is_there(folder) ? "must be a directory, not a file"
                                       : "is not there: no such directory",
                    "name a run directory that `train` has written, or a "
                    "Hugging Face directory");
  }
  if (!is_there(folder / "weights")) {
    return no_model(path, "the run directory", "has no weights/",
                    "it is written when a run ends; state.json says how it "
                    "went");
  }
  const Result<std::string> text = read_file(path + "/config.toml");
  if (!text) return text.errors();
  const Result<RunConfig> run =
      parse_run_config(*text, path + "/config.toml", {});
  if (!run) return run.errors();
  return ModelSource{.weights = path + "/weights", .run = *run};
}

std::optional<std::string> known_tokenizer(const ModelSource& source,
                                           const std::string& asked) {
  if (!asked.empty()) return asked;
  const auto& run = source.run;
  const bool knows_its_own =
      run && !reads_ids(*run) && !may_read_prepared(*run);
  if (run && (knows_its_own || run->data.tokenizer != "bytes")) {
    return run->data.tokenizer;
  }
  if (has_tokenizer(source.weights)) return source.weights;
  if (run && !run->model.init.empty() && has_tokenizer(run->model.init)) {
    return run->model.init;
  }
  return std::nullopt;
}

Result<std::string> find_tokenizer(const ModelSource& source,
                                   const std::string& asked, int vocab) {
  if (const auto known = known_tokenizer(source, asked)) return *known;
  constexpr int kMostForBytes = 1024;  // 256 bytes and some special ids
  const bool read_ids = source.run && reads_ids(*source.run);
  if (vocab <= kMostForBytes && !read_ids) return std::string("bytes");
  return Diagnostic{
      .code = "E413",
      .where = source.weights,
      .found =
          read_ids
              ? "a model of token ids (" + source.run->data.path.front() + ")"
              : "a vocabulary of " + std::to_string(vocab) + " tokens",
      .needed = "needs a tokenizer, and none is known",
      .hint =
          "--tokenizer PATH: a tokenizer.json or the directory of one; "
          "for bytes, --tokenizer bytes"};
}

Result<TextCodec> TextCodec::open(const std::string& tokenizer) {
  if (tokenizer == "bytes") return TextCodec(std::nullopt);
  Result<Tokenizer> opened = open_tokenizer(tokenizer);
  if (!opened) return opened.errors();
  return TextCodec(std::move(opened).value());
}

std::vector<std::int64_t> TextCodec::encode(std::string_view text) const {
  if (!tokenizer_) {
    std::vector<std::int64_t> bytes;
    for (const char c : text) bytes.push_back(static_cast<unsigned char>(c));
    return bytes;
  }
  std::vector<TokenId> ids;
  Encoder(*tokenizer_).encode(text, ids);
  return {ids.begin(), ids.end()};
}

std::string TextCodec::decode(const std::vector<std::int64_t>& ids) const {
  if (!tokenizer_) {
    std::string text;
    for (const std::int64_t id : ids) {
      if (id < 256) {
        text.push_back(static_cast<char>(id));
      } else {
        append_utf8(U'\uFFFD', text);
      }
    }
    return text;
  }
  const std::vector<TokenId> narrow(ids.begin(), ids.end());
  return tokenizer_->decode(narrow);
}

std::optional<std::int64_t> TextCodec::end_of_document() const {
  return tokenizer_ ? tokenizer_->end_of_document() : std::nullopt;
}

Result<OpenModel> open_model(const std::string& weights,
                             const SeqChoice& choice) {
  Result<HfDirectory> opened = HfDirectory::open(weights);
  if (!opened) return opened.errors();
  const auto directory =
      std::make_shared<const HfDirectory>(std::move(opened).value());
  const HfShape shape = directory->shape();
  const int limit = static_cast<int>(context_length(shape.model));
  if (choice.asked > limit) {
    return Diagnostic{.code = "E403",
                      .found = "--seq " + std::to_string(choice.asked),
                      .needed = "must be at most " + std::to_string(limit) +
                                ", which the model sees at once"};
  }
  const int seq =
      choice.asked > 0 ? choice.asked : std::min(limit, choice.most);
  Model model = make_model(details_of(shape, seq));
  const Result<StoredWeights> stored = find_weights(directory, model, 0);
  if (!stored) return stored.errors();
  if (!stored->fresh.empty()) {
    return Diagnostic{.kind = DiagnosticKind::kData,
                      .code = "E536",
                      .where = weights,
                      .found = "tensor \"" + stored->fresh.front() + "\"",
                      .needed = "is missing"};
  }
  return OpenModel{shape, WholeModel(std::move(model), stored->init)};
}

}  // namespace chimera
