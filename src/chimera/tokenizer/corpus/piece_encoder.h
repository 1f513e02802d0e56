// Encodes one piece of a corpus into output bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/tokenizer/corpus/piece_reader.h"
#include "chimera/tokenizer/encoder.h"
#include "chimera/tokenizer/tokenizer.h"

namespace chimera {

struct EncodedPiece {
  std::string bytes;  // little-endian ids
  std::int64_t tokens = 0;
  // Ends of documents, counted in the tokens of this piece.
  std::vector<std::int64_t> document_ends = {};
  std::int64_t position = 0;  // the piece's position
  Diagnostics errors = {};    // at most ten bad lines
};

class PieceEncoder {
 public:
  explicit PieceEncoder(const Tokenizer& tokenizer);

  [[nodiscard]] EncodedPiece encode(const Piece& piece);

 private:
  void encode_lines(const Piece& piece, EncodedPiece& out);
  void encode_line(const Piece& piece, std::string_view line,
                   std::int64_t number, EncodedPiece& out);
  void end_document(EncodedPiece& out);

  const Tokenizer& tokenizer_;
  Encoder encoder_;
  std::vector<TokenId> ids_;
};

// True if ids need four bytes instead of two.
[[nodiscard]] bool needs_wide_ids(const Tokenizer& tokenizer);

}  // namespace chimera
