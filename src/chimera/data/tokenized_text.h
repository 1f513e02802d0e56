// Text files as token ids, kept in a file beside the text: what one process of
// a host has tokenized, the others and later runs read.
#pragma once

#include <string>

#include "chimera/base/result.h"
#include "chimera/data/mapped_file.h"
#include "chimera/tokenizer/tokenizer.h"

namespace chimera {

struct TokenizeOptions {
  bool by_blank_lines = false;  // documents of a text; else it is one
};

// A .bin file of ids, with its description and its index beside it. One that is
// temporary disappears with this value; who has mapped it keeps its contents.
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

// books.txt gives books.txt.tokens.bin, or books.txt.documents.bin if it is cut
// at blank lines. A file from before is used if text and tokenizer are the
// same. Where the folder cannot be written to, the ids go to a temporary file.
// Uses all cores. Throws IoError if no file can be written at all.
[[nodiscard]] Result<TokenizedText> tokenize_text(
    const MappedFile& text, const Tokenizer& tokenizer,
    const TokenizeOptions& options);

}  // namespace chimera
