// Text files as token ids, kept in a file beside the text. One process of a
// host tokenizes; the others, and later runs, read the result.
#pragma once

#include <string>

#include "chimera/base/result.h"
#include "chimera/data/mapped_file.h"
#include "chimera/tokenizer/tokenizer.h"

namespace chimera {

struct TokenizeOptions {
  bool by_blank_lines = false;  // true: documents end at blank lines
};

// A .bin file of ids with its description and its index beside it. A temporary
// one is deleted with this object; processes that have mapped it keep its
// contents.
class TokenizedText {
 public:
  TokenizedText(std::string file, bool is_temporary)
      : path(std::move(file)), is_temporary_(is_temporary) {}
  TokenizedText(TokenizedText&& other) noexcept
      : path(std::move(other.path)),
        is_temporary_(std::exchange(other.is_temporary_, false)) {}
  TokenizedText& operator=(TokenizedText&&) = delete;
  ~TokenizedText();

  std::string path;

 private:
  bool is_temporary_;
};

// Tokenizes books.txt to books.txt.tokens.bin, or to books.txt.documents.bin if
// it is divided at blank lines. An existing file is used if text and tokenizer
// are the same. If the folder is not writable, the ids go to a temporary file.
// Uses all cores. Throws IoError if no file can be written at all.
[[nodiscard]] Result<TokenizedText> tokenize_text(
    const MappedFile& text, const Tokenizer& tokenizer,
    const TokenizeOptions& options);

}  // namespace chimera
