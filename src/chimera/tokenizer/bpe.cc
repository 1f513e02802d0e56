#include "chimera/tokenizer/bpe.h"

#include <algorithm>
#include <bit>
#include <queue>
#include <tuple>

namespace chimera {
namespace {

// Longest word for which scanning all pairs repeatedly is faster than a heap.
constexpr size_t kShort = 48;

}  // namespace

BpeModel::BpeModel(const std::array<std::optional<TokenId>, 256>& bytes,
                   std::span<const Merge> merges,
                   std::unordered_map<std::string, TokenId> whole_words,
                   UnknownBytes unknown)
    : bytes_(bytes),
      slots_(std::bit_ceil(2 * merges.size() + 2)),
      shift_(64 - std::countr_zero(slots_.size())),
      whole_words_(std::move(whole_words)),
      unknown_(unknown) {
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const auto& [left, right, product] = merges[rank];
    slots_[slot_of(left, right)] = {.pair = std::uint64_t{left} << 32 | right,
                                    .rank = static_cast<std::uint32_t>(rank),
                                    .product = product};
  }
}

// The slot of a pair, or the free slot for it.
size_t BpeModel::slot_of(TokenId left, TokenId right) const {
  const std::uint64_t pair = std::uint64_t{left} << 32 | right;
  size_t at = (pair * 0x9E3779B97F4A7C15U) >> shift_;
  while (slots_[at].pair != pair && slots_[at].pair != kNone) {
    at = (at + 1) & (slots_.size() - 1);
  }
  return at;
}

void BpeModel::split(std::string_view word, std::vector<TokenId>& ids) const {
  bool after_unknown = false;
  for (const char byte : word) {
    const auto& id = bytes_[static_cast<unsigned char>(byte)];
    if (id) {
      ids.push_back(*id);
    } else if (unknown_.id && !(after_unknown && unknown_.fuse)) {
      ids.push_back(*unknown_.id);
    }
    after_unknown = !id;
  }
}

// Merges in place. Returns the number of tokens left.
size_t BpeModel::merge_short(std::span<TokenId> ids) const {
  std::uint32_t ranks[kShort];  // rank of the pair that starts at each token
  size_t size = ids.size();
  std::fill_n(ranks, size, kNeverMerged);
  for (size_t i = 0; i + 1 < size; ++i) ranks[i] = rank_of(ids[i], ids[i + 1]);
  while (size > 1) {
    const size_t best =
        static_cast<size_t>(std::min_element(ranks, ranks + size) - ranks);
    if (ranks[best] == kNeverMerged) break;
    ids[best] = slots_[slot_of(ids[best], ids[best + 1])].product;
    --size;
    for (size_t i = best + 1; i < size; ++i) {
      ids[i] = ids[i + 1];
      ranks[i] = ranks[i + 1];
    }
    if (best > 0) ranks[best - 1] = rank_of(ids[best - 1], ids[best]);
    ranks[best] =
        best + 1 < size ? rank_of(ids[best], ids[best + 1]) : kNeverMerged;
  }
  return size;
}

// Merges words of any length in n log n: candidates wait in a heap, and those
// whose pair has changed meanwhile are skipped.
size_t BpeModel::merge_long(std::span<TokenId> ids) const {
  constexpr size_t kGone = ~size_t{0};
  const size_t count = ids.size();
  std::vector<size_t> next(count), previous(count);
  using Candidate = std::tuple<std::uint32_t, size_t>;  // rank, place
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> heap;
  const auto propose = [&](size_t at) {
    if (next[at] >= count) return;
    const std::uint32_t rank = rank_of(ids[at], ids[next[at]]);
    if (rank != kNeverMerged) heap.emplace(rank, at);
  };
  for (size_t i = 0; i < count; ++i) {
    next[i] = i + 1;
    previous[i] = i == 0 ? kGone : i - 1;
  }
  for (size_t i = 0; i < count; ++i) propose(i);
  while (!heap.empty()) {
    const auto [rank, at] = heap.top();
    heap.pop();
    if (next[at] >= count || rank_of(ids[at], ids[next[at]]) != rank) continue;
    const size_t right = next[at];
    ids[at] = slots_[slot_of(ids[at], ids[right])].product;
    next[at] = next[right];
    if (next[at] < count) previous[next[at]] = at;
    next[right] = kGone;
    propose(at);
    if (previous[at] != kGone) propose(previous[at]);
  }
  size_t size = 0;
  for (size_t at = 0; at < count; at = next[at]) ids[size++] = ids[at];
  return size;
}

void BpeModel::encode(std::string_view word, std::vector<TokenId>& ids) const {
  if (!whole_words_.empty()) {
    const auto whole = whole_words_.find(std::string(word));
    if (whole != whole_words_.end()) {
      ids.push_back(whole->second);
      return;
    }
  }
  const size_t first = ids.size();
  split(word, ids);
  const std::span<TokenId> own(ids.data() + first, ids.size() - first);
  ids.resize(first +
             (own.size() <= kShort ? merge_short(own) : merge_long(own)));
}

}  // namespace chimera
