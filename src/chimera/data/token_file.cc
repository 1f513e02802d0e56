#include "chimera/data/token_file.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>

#include "chimera/data/jsonl.h"

namespace chimera {
namespace {

static_assert(std::endian::native == std::endian::little,
              ".bin files are mapped as they are");

// The place of the first id that is not below `vocab`. By blocks, because
// their maximum is found at the speed of memory; a search is not.
template <class Id>
std::optional<size_t> first_too_large(std::span<const Id> ids, int vocab) {
  constexpr size_t kBlock = 4096;
  if (vocab > std::numeric_limits<Id>::max()) return std::nullopt;
  for (size_t begin = 0; begin < ids.size(); begin += kBlock) {
    const auto block = ids.subspan(begin, std::min(kBlock, ids.size() - begin));
    Id largest = 0;
    for (const Id id : block) largest = std::max(largest, id);
    if (largest < vocab) continue;
    const auto at = std::find_if(block.begin(), block.end(),
                                 [&](Id id) { return id >= vocab; });
    return begin + static_cast<size_t>(at - block.begin());
  }
  return std::nullopt;
}

template <class Id>
Diagnostics check_ids(std::span<const Id> ids, const std::string& path,
                      int vocab) {
  const std::optional<size_t> at = first_too_large(ids, vocab);
  if (!at) return {};
  return {{.kind = DiagnosticKind::kData,
           .code = "E505",
           .where = path + ", token " + std::to_string(*at),
           .found = "id " + std::to_string(ids[*at]),
           .needed = "must be below vocab = " + std::to_string(vocab),
           .hint = "raise model.vocab, or is this another tokenizer's file?"}};
}

Diagnostics check_even(const MappedFile& file) {
  const size_t size = file.bytes().size();
  if (size % sizeof(std::uint16_t) == 0) return {};
  return {{.kind = DiagnosticKind::kData,
           .code = "E503",
           .where = file.path() + ", byte " + std::to_string(size - 1),
           .found = std::to_string(size) + " bytes",
           .needed = "must be an even number, two bytes a token",
           .hint = "write it as uint16; was it written to its end?"}};
}

std::span<const std::uint8_t> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// REQUIRES: page-aligned.
std::span<const std::uint16_t> as_words(std::string_view text) {
  return {reinterpret_cast<const std::uint16_t*>(text.data()),
          text.size() / sizeof(std::uint16_t)};
}

}  // namespace

DataFormat format_of(const std::string& path) {
  const std::string_view name = path;
  if (name.ends_with(".bin")) return DataFormat::kBin;
  if (name.ends_with(".jsonl")) return DataFormat::kJsonl;
  return DataFormat::kText;
}

Result<TokenFile> read_tokens(MappedFile file, int vocab, Scan scan) {
  const DataFormat format = format_of(file.path());
  TokenFile tokens(std::move(file), {});
  const std::string& path = tokens.file_.path();
  const std::string_view content = tokens.file_.bytes();
  Diagnostics errors;
  if (format == DataFormat::kBin) {
    errors = check_even(tokens.file_);
    tokens.words_ = as_words(content);
  } else if (format == DataFormat::kText) {
    tokens.bytes_ = as_bytes(content);
  } else {
    Result<std::vector<std::uint8_t>> joined =
        join_documents({.text = content, .path = path}, vocab);
    if (!joined) return joined.errors();
    tokens.joined_ = std::move(joined).value();
    tokens.bytes_ = tokens.joined_;
  }
  if (errors.empty() && scan == Scan::kWhole) {
    errors = check_ids(tokens.words_, path, vocab);
  }
  if (errors.empty()) errors = check_ids(tokens.bytes_, path, vocab);
  if (!errors.empty()) return errors;
  return tokens;
}

}  // namespace chimera
