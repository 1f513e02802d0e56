#include "chimera/data/masking.h"

namespace chimera {
namespace {

constexpr double kMaskedShare = 0.15;
constexpr double kMaskShare = 0.8;    // share of the masked positions
constexpr double kRandomShare = 0.1;  // share of them; other tokens stay

// The random numbers of a sample: three per position, then one.
enum class Choice : std::uint64_t { kWhether, kHow, kId, kCount };
std::uint64_t element(int position, Choice choice) {
  return static_cast<std::uint64_t>(position) *
             static_cast<std::uint64_t>(Choice::kCount) +
         static_cast<std::uint64_t>(choice);
}

}  // namespace

std::vector<int> Masking::positions(const PairLayout& layout) const {
  std::vector<int> masked;
  for (int index = 0; index < layout.span(); ++index) {
    const int position = layout.position(index);
    if (random_.uniform(element(position, Choice::kWhether)) < kMaskedShare) {
      masked.push_back(position);
    }
  }
  if (masked.empty()) {
    const std::uint64_t index =
        random_.below(element(layout.length(), Choice::kWhether),
                      static_cast<std::uint64_t>(layout.span()));
    masked.push_back(layout.position(static_cast<int>(index)));
  }
  return masked;
}

std::int64_t Masking::input(int position, std::int64_t original) const {
  const double how = random_.uniform(element(position, Choice::kHow));
  if (how < kMaskShare) return options_.mask_id;
  if (how >= kMaskShare + kRandomShare) return original;
  return static_cast<std::int64_t>(
      random_.below(element(position, Choice::kId),
                    static_cast<std::uint64_t>(options_.vocab)));
}

}  // namespace chimera
