#include "chimera/tokenizer/utf8.h"

#include <cstring>

namespace chimera {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct Sequence {
  size_t length = 1;  // bytes of the sequence
  bool sound = false;
};

// A first byte determines the sequence's length and the range of its second
// byte, which excludes overlong forms, surrogates and values above 0x10FFFF.
struct Lead {
  size_t length;
  unsigned char lowest, highest;
};

Lead lead_of(unsigned char first) {
  if (first < 0xC2) return {0, 0, 0};
  if (first < 0xE0) return {2, 0x80, 0xBF};
  if (first == 0xE0) return {3, 0xA0, 0xBF};
  if (first == 0xED) return {3, 0x80, 0x9F};
  if (first < 0xF0) return {3, 0x80, 0xBF};
  if (first == 0xF0) return {4, 0x90, 0xBF};
  if (first < 0xF4) return {4, 0x80, 0xBF};
  if (first == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

// REQUIRES: text[at] is not ASCII.
Sequence sequence_at(std::string_view text, size_t at) {
  const Lead lead = lead_of(static_cast<unsigned char>(text[at]));
  if (lead.length == 0) return {};
  for (size_t i = 1; i < lead.length; ++i) {
    if (at + i >= text.size()) return {i, false};
    const auto byte = static_cast<unsigned char>(text[at + i]);
    const unsigned char lowest = i == 1 ? lead.lowest : 0x80;
    const unsigned char highest = i == 1 ? lead.highest : 0xBF;
    if (byte < lowest || byte > highest) return {i, false};
  }
  return {lead.length, true};
}

// Position of the first byte from `at` on that is not ASCII; the end if none.
size_t skip_ascii(std::string_view text, size_t at) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080U;
  std::uint64_t word = 0;
  for (; at + sizeof word <= text.size(); at += sizeof word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    if ((word & kHighBits) != 0) break;
  }
  while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) ++at;
  return at;
}

// Position of the first invalid sequence from `at` on; the end if none.
size_t first_broken(std::string_view text, size_t at) {
  while ((at = skip_ascii(text, at)) < text.size()) {
    const Sequence sequence = sequence_at(text, at);
    if (!sequence.sound) return at;
    at += sequence.length;
  }
  return text.size();
}

}  // namespace

std::string_view repaired(std::string_view text, std::string& storage) {
  size_t broken = first_broken(text, 0);
  if (broken == text.size()) return text;
  storage.clear();
  size_t at = 0;
  while (broken < text.size()) {
    storage.append(text.substr(at, broken - at)).append(kReplacement);
    at = broken + sequence_at(text, broken).length;
    broken = first_broken(text, at);
  }
  storage.append(text.substr(at));
  return storage;
}

}  // namespace chimera
