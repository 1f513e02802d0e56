#include "chimera/tokenizer/corpus/piece_reader.h"

#include <algorithm>
#include <span>
#include <utility>

#include "chimera/tokenizer/corpus/blank_lines.h"

namespace chimera {
namespace {

// Small, so that no core idles long while another finishes the last piece;
// large beside the cost of handing a piece over.
constexpr size_t kPiece = size_t{1} << 18;

}  // namespace

// Reads until the buffer holds `size` bytes or the file ends.
Diagnostics PieceReader::fill(size_t size) {
  while (!is_over_ && buffer_.size() < size) {
    const size_t have = buffer_.size();
    buffer_.resize(size);
    const Result<size_t> count =
        source_->read(std::span(buffer_).subspan(have));
    if (!count) return count.errors();
    buffer_.resize(have + *count);
    is_over_ = *count == 0;
  }
  return {};
}

size_t PieceReader::cut() const {
  if (is_over_) return buffer_.size();
  switch (files_[at_].documents) {
    case DocumentKind::kFile:
      return tokenizer_.last_cut(buffer_);
    case DocumentKind::kJsonLine:
      return buffer_.rfind('\n') + 1;  // npos + 1 is 0
    case DocumentKind::kBlankLines:
      return last_document_end(buffer_);
  }
  return 0;
}

Piece PieceReader::take(size_t size) {
  Piece piece{.file = &files_[at_],
              .ends_file = is_over_ && size == buffer_.size(),
              .first_line = line_,
              .position = used_ + source_->position()};
  std::string rest = buffer_.substr(size);
  buffer_.resize(size);
  piece.bytes = std::exchange(buffer_, std::move(rest));
  line_ += std::count(piece.bytes.begin(), piece.bytes.end(), '\n');
  if (piece.ends_file) {
    used_ += files_[at_].bytes;
    source_.reset();
    ++at_;
  }
  return piece;
}

Result<std::optional<Piece>> PieceReader::next() {
  if (at_ == files_.size()) return std::optional<Piece>();
  if (!source_) {
    auto opened = open_bytes(files_[at_]);
    if (!opened) return opened.errors();
    source_ = std::move(opened).value();
    is_over_ = false;
    line_ = 1;
  }
  for (size_t size = kPiece;; size *= 2) {
    Diagnostics errors = fill(size);
    if (!errors.empty()) return errors;
    const size_t end = cut();
    if (end > 0 || is_over_) return std::optional<Piece>(take(end));
  }
}

}  // namespace chimera
