#include "chimera/data/id_range.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>

namespace chimera {
namespace {

// The index of the first id that is not below `vocab`. Works by blocks, because
// a maximum runs at the speed of memory and a search does not.
template <class Id>
std::optional<size_t> first_too_large(std::span<const Id> ids,
                                      std::uint64_t vocab) {
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
std::optional<size_t> first_too_large(const TokenIds& ids, int vocab) {
  return first_too_large(
      std::span(ids.first<Id>(), static_cast<size_t>(ids.size())),
      static_cast<std::uint64_t>(vocab));
}

}  // namespace

Diagnostics check_ids(const TokenIds& ids, const std::string& path, int vocab) {
  std::optional<size_t> at;
  if (ids.width() == 1) at = first_too_large<std::uint8_t>(ids, vocab);
  if (ids.width() == 2) at = first_too_large<std::uint16_t>(ids, vocab);
  if (ids.width() == 4) at = first_too_large<std::uint32_t>(ids, vocab);
  if (!at) return {};
  const std::int64_t id = ids[static_cast<std::int64_t>(*at)];
  return {{.kind = DiagnosticKind::kData,
           .code = "E505",
           .where = path + ", token " + std::to_string(*at),
           .found = "id " + std::to_string(id),
           .needed = "must be below vocab = " + std::to_string(vocab),
           .hint = "raise model.vocab, or is this another tokenizer's file?"}};
}

}  // namespace chimera
