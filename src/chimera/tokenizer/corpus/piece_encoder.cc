#include "chimera/tokenizer/corpus/piece_encoder.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "chimera/base/json_reader.h"
#include "chimera/base/text.h"
#include "chimera/tokenizer/corpus/blank_lines.h"
#include "chimera/tokenizer/corpus/json_line.h"

namespace chimera {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr size_t kEnough = 10;  // number of bad lines to report

// The "text" of a JSONL line; records an error and returns nullopt if it has
// none.
std::optional<std::string> read_text(std::string_view line,
                                     const std::string& path,
                                     Diagnostics& errors) {
  JsonReader reader(line, path, errors,
                    {.syntax = "E507",
                     .type = "E508",
                     .range = "E508",
                     .key = "E508",
                     .kind = DiagnosticKind::kData});
  std::optional<std::string> text = read_line_text(reader);
  reader.finish();
  return text;
}

template <class Id>
void append_ids(const std::vector<TokenId>& ids, std::string& bytes) {
  bytes.resize(ids.size() * sizeof(Id));
  char* at = bytes.data();
  for (const TokenId id : ids) {
    const auto narrow = static_cast<Id>(id);
    std::memcpy(at, &narrow, sizeof narrow);
    at += sizeof narrow;
  }
}

}  // namespace

bool needs_wide_ids(const Tokenizer& tokenizer) {
  return tokenizer.num_ids() > std::uint64_t{1} << 16;
}

PieceEncoder::PieceEncoder(const Tokenizer& tokenizer)
    : tokenizer_(tokenizer), encoder_(tokenizer) {}

void PieceEncoder::end_document(EncodedPiece& out) {
  if (const auto end = tokenizer_.end_of_document()) ids_.push_back(*end);
  out.document_ends.push_back(static_cast<std::int64_t>(ids_.size()));
}

void PieceEncoder::encode_line(const Piece& piece, std::string_view line,
                               std::int64_t number, EncodedPiece& out) {
  if (trim(line).empty()) return;
  Diagnostics errors;
  const auto text = read_text(line, piece.file->path, errors);
  if (!errors.empty()) {
    errors.front().where = piece.file->path + ":" + std::to_string(number);
    out.errors.push_back(errors.front());
    return;
  }
  encoder_.encode(*text, ids_);
  end_document(out);
}

void PieceEncoder::encode_lines(const Piece& piece, EncodedPiece& out) {
  std::string_view rest = piece.bytes;
  for (std::int64_t number = piece.first_line;
       !rest.empty() && out.errors.size() < kEnough; ++number) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    encode_line(piece, line, number, out);
  }
}

EncodedPiece PieceEncoder::encode(const Piece& piece) {
  EncodedPiece out{.position = piece.position};
  ids_.clear();
  switch (piece.file->documents) {
    case DocumentKind::kFile:
      encoder_.encode(piece.bytes, ids_);
      if (piece.ends_file) end_document(out);
      break;
    case DocumentKind::kJsonLine:
      encode_lines(piece, out);
      break;
    case DocumentKind::kBlankLines:
      for (const std::string_view document : split_at_blanks(piece.bytes)) {
        encoder_.encode(document, ids_);
        end_document(out);
      }
      break;
  }
  out.tokens = static_cast<std::int64_t>(ids_.size());
  if (needs_wide_ids(tokenizer_)) {
    append_ids<std::uint32_t>(ids_, out.bytes);
  } else {
    append_ids<std::uint16_t>(ids_, out.bytes);
  }
  return out;
}

}  // namespace chimera
