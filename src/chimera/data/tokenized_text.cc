#include "chimera/data/tokenized_text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "chimera/base/files.h"
#include "chimera/tokenizer/corpus/corpus_description.h"
#include "chimera/tokenizer/corpus/megatron_index.h"
#include "chimera/tokenizer/corpus/tokenize_corpus.h"

namespace chimera {
namespace {

namespace fs = std::filesystem;

// Lets one process at a time tokenize a text. On a file system without locks
// several may do it; each result then replaces the other as a whole.
class TextLock {
 public:
  explicit TextLock(const std::string& path)
      : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor_ >= 0) flock(descriptor_, LOCK_EX);
  }
  TextLock(const TextLock&) = delete;
  TextLock& operator=(const TextLock&) = delete;
  ~TextLock() {
    if (descriptor_ >= 0) close(descriptor_);
  }

 private:
  int descriptor_;
};

struct Wanted {
  const Tokenizer& tokenizer;
  std::vector<InputFile> files;
  std::string source_hash;
};

// True if `path` already holds these ids.
bool is_made(const std::string& path, const Wanted& wanted) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  if (!fs::is_regular_file(index_path(path), error)) return false;
  const auto description = read_description(path);
  return description && description->has_value() &&
         (*description)->tokenizer_hash == hash_text(wanted.tokenizer) &&
         (*description)->source_hash == wanted.source_hash;
}

Diagnostics make(const std::string& path, const Wanted& wanted) {
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  const Result<CorpusSummary> summary =
      tokenize_corpus(wanted.files, wanted.tokenizer,
                      {.output = path,
                       .num_threads = static_cast<int>(cores),
                       .source_hash = wanted.source_hash});
  if (!summary) return summary.errors();
  if (summary->tokens > 0) return {};
  return {{.kind = DiagnosticKind::kData,
           .code = "E502",
           .where = wanted.files[0].path,
           .found = "no text",
           .needed = "is nothing to train on",
           .hint = "was the file written to its end?"}};
}

}  // namespace

TokenizedText::~TokenizedText() {
  if (!is_temporary_) return;
  std::error_code ignored;
  for (const std::string& file :
       {path, description_path(path), index_path(path)}) {
    fs::remove(file, ignored);
  }
}

Result<TokenizedText> tokenize_text(const MappedFile& text,
                                    const Tokenizer& tokenizer,
                                    const TokenizeOptions& options) {
  Result<std::vector<InputFile>> files = find_inputs({text.path()});
  if (!files) return files.errors();
  Wanted wanted{
      .tokenizer = tokenizer,
      .files = std::move(files).value(),
      .source_hash = fmt::format(
          "{:016x}", XXH3_64bits(text.bytes().data(), text.bytes().size()))};
  if (options.by_blank_lines) {
    wanted.files[0].documents = DocumentKind::kBlankLines;
  }
  const std::string path =
      text.path() + (options.by_blank_lines ? ".documents.bin" : ".tokens.bin");
  const TextLock lock(text.path());
  if (is_made(path, wanted)) return TokenizedText(path, false);
  try {
    Diagnostics errors = make(path, wanted);
    if (!errors.empty()) return errors;
    return TokenizedText(path, false);
  } catch (const IoError&) {
    TokenizedText temporary(
        fs::temp_directory_path() /
            fmt::format("chimera-{}-{}.bin", getpid(), wanted.source_hash),
        true);
    Diagnostics errors = make(temporary.path, wanted);
    if (!errors.empty()) return errors;
    return temporary;
  }
}

}  // namespace chimera
