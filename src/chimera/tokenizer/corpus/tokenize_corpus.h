// Text files to a file of token ids, by all cores, in bounded memory. The same
// bytes whatever the number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/tokenizer/corpus/input_files.h"
#include "chimera/tokenizer/tokenizer.h"

namespace chimera {

struct CorpusProgress {
  std::int64_t bytes = 0;  // stored bytes that are done
  std::int64_t total = 0;
  std::int64_t tokens = 0;
};

struct CorpusOptions {
  std::string output;   // corpus.bin; corpus.json is written beside it
  int num_threads = 1;  // at least 1
  // Called after each piece, by one thread at a time; may be empty.
  std::function<void(const CorpusProgress&)> on_progress = {};
};

struct CorpusSummary {
  std::int64_t tokens = 0;
  std::int64_t documents = 0;
  bool wide = false;  // uint32, else uint16
};

// Each text file, and each line of a JSONL file, is a document; behind it comes
// the tokenizer's end-of-document token, if it has one. Files appear whole or
// not at all; those of an earlier run are replaced. Throws IoError.
[[nodiscard]] Result<CorpusSummary> tokenize_corpus(
    const std::vector<InputFile>& files, const Tokenizer& tokenizer,
    const CorpusOptions& options);

// The name of the description beside a corpus: corpus.bin -> corpus.json.
[[nodiscard]] std::string description_path(const std::string& output);

}  // namespace chimera
