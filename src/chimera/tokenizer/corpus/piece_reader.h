// Divides a corpus into pieces of about 256 KB that can be encoded
// independently: part of a document, or whole documents of a file with many.
// The division depends only on the files and the tokenizer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/tokenizer/corpus/byte_source.h"
#include "chimera/tokenizer/corpus/input_files.h"
#include "chimera/tokenizer/tokenizer.h"

namespace chimera {

struct Piece {
  std::string bytes;
  const InputFile* file = nullptr;
  bool ends_file = false;
  std::int64_t first_line = 1;
  std::int64_t position = 0;  // stored bytes consumed up to the piece's end
};

class PieceReader {
 public:
  // REQUIRES: both arguments outlive this object.
  PieceReader(const std::vector<InputFile>& files, const Tokenizer& tokenizer)
      : files_(files), tokenizer_(tokenizer) {}

  // The next piece; nullopt at the end. A piece exceeds 256 KB only where a
  // document has no place to cut or, in a file of many documents, has not ended
  // yet.
  [[nodiscard]] Result<std::optional<Piece>> next();

 private:
  [[nodiscard]] Diagnostics fill(size_t size);
  [[nodiscard]] size_t cut() const;
  [[nodiscard]] Piece take(size_t size);

  const std::vector<InputFile>& files_;
  const Tokenizer& tokenizer_;
  size_t at_ = 0;  // index of the current file
  std::unique_ptr<ByteSource> source_;
  std::string buffer_;    // read but not yet returned
  bool is_over_ = false;  // the file has no bytes after the buffer
  std::int64_t line_ = 1;
  std::int64_t used_ = 0;  // stored bytes of earlier files
};

}  // namespace chimera
