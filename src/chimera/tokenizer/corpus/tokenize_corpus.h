// Encodes text files into a file of token ids, on all cores and in bounded
// memory. The output does not depend on the number of threads.
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
  std::int64_t bytes = 0;  // stored bytes encoded so far
  std::int64_t total = 0;
  std::int64_t tokens = 0;
};

struct CorpusOptions {
  std::string output;   // corpus.bin; .json and .idx are written beside it
  int num_threads = 1;  // at least 1
  std::string source_hash = {};  // for the description
  // Called after each piece, by one thread at a time; may be empty.
  std::function<void(const CorpusProgress&)> on_progress = {};
};

struct CorpusSummary {
  std::int64_t tokens = 0;
  std::int64_t documents = 0;
  bool wide = false;  // true: uint32, false: uint16
};

// Encodes the files. Each text file, and each line of a JSONL file, is a
// document, followed by the tokenizer's end-of-document token if it has one.
// Files appear whole or not at all and replace those of an earlier run. Keeps 8
// bytes in memory per document. Throws IoError.
[[nodiscard]] Result<CorpusSummary> tokenize_corpus(
    const std::vector<InputFile>& files, const Tokenizer& tokenizer,
    const CorpusOptions& options);

}  // namespace chimera
