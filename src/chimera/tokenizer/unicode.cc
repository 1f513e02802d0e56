#include "chimera/tokenizer/unicode.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <unordered_map>

#include "chimera/base/check.h"
#include "chimera/base/text.h"
#include "chimera/tokenizer/utf8.h"

namespace chimera {
namespace {

#include "chimera/tokenizer/unicode_tables.inc"

// Hangul syllables are composed by arithmetic (Unicode, 3.12).
constexpr char32_t kSyllables = 0xAC00, kLeads = 0x1100, kVowels = 0x1161,
                   kTrails = 0x11A7;
constexpr char32_t kNumLeads = 19, kNumVowels = 21, kNumTrails = 28;
constexpr char32_t kNumSyllables = kNumLeads * kNumVowels * kNumTrails;

// Expands runs of (length, value) over all code points into one table.
template <size_t kCount>
std::unique_ptr<ClassTable> expanded(const std::int32_t (&runs)[kCount]) {
  auto table = std::make_unique<ClassTable>();
  auto at = table->begin();
  for (size_t i = 0; i + 1 < kCount; i += 2) {
    at = std::fill_n(at, runs[i], static_cast<std::uint8_t>(runs[i + 1]));
  }
  CHIMERA_CHECK(at == table->end(), "the table covers all code points");
  return table;
}

std::uint8_t combining_class(char32_t code) {
  static const std::unique_ptr<ClassTable> kTable = expanded(kCombiningRuns);
  return (*kTable)[code];
}

using Decompositions = std::unordered_map<char32_t, std::u32string>;
using Compositions = std::unordered_map<std::uint64_t, char32_t>;

std::uint64_t pair_key(char32_t first, char32_t second) {
  return std::uint64_t{first} << 32 | second;
}

// Full decompositions, and the pairs that compose: a composite of n code points
// is the composite of its first n - 1 with the last.
struct NormalForms {
  Decompositions decompositions;
  Compositions compositions;

  NormalForms() {
    std::unordered_map<char32_t, bool> composes;
    char32_t code = 0;
    for (const std::int32_t* at = std::begin(kDecompositions);
         at < std::end(kDecompositions);) {
      code += static_cast<char32_t>(*at++);
      const std::int32_t length = *at / 2;
      composes[code] = *at++ % 2 == 1;
      decompositions[code].assign(at, at + length);
      at += length;
    }
    std::unordered_map<std::string, char32_t> composites;
    const auto key = [](const char32_t* begin, const char32_t* end) {
      return std::string(reinterpret_cast<const char*>(begin),
                         reinterpret_cast<const char*>(end));
    };
    for (const auto& [composite, parts] : decompositions) {
      if (!composes[composite]) continue;
      composites[key(parts.data(), parts.data() + parts.size())] = composite;
    }
    for (const auto& [composite, parts] : decompositions) {
      if (!composes[composite]) continue;
      const char32_t* last = parts.data() + parts.size() - 1;
      const char32_t first = last - parts.data() == 1
                                 ? parts[0]
                                 : composites.at(key(parts.data(), last));
      compositions[pair_key(first, *last)] = composite;
    }
  }
};

const NormalForms& normal_forms() {
  static const NormalForms kForms;
  return kForms;
}

void append_decomposed(char32_t code, std::u32string& out) {
  if (code - kSyllables < kNumSyllables) {
    const char32_t index = code - kSyllables;
    out += static_cast<char32_t>(kLeads + index / (kNumVowels * kNumTrails));
    out += static_cast<char32_t>(kVowels + index / kNumTrails % kNumVowels);
    if (index % kNumTrails != 0) {
      out += static_cast<char32_t>(kTrails + index % kNumTrails);
    }
    return;
  }
  const Decompositions& all = normal_forms().decompositions;
  const auto found = all.find(code);
  if (found == all.end()) {
    out += code;
  } else {
    out += found->second;
  }
}

// Sorts each run of marks by combining class, keeping equal ones in order.
void sort_marks(std::u32string& text) {
  for (auto at = text.begin(); at != text.end();) {
    if (*at < 0x300 || combining_class(*at) == 0) {
      ++at;
      continue;
    }
    const auto end = std::find_if(
        at, text.end(), [](char32_t c) { return combining_class(c) == 0; });
    std::stable_sort(at, end, [](char32_t a, char32_t b) {
      return combining_class(a) < combining_class(b);
    });
    at = end;
  }
}

std::u32string decomposed(std::string_view text) {
  std::u32string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const CodePoint code = code_point_at(text, at);
    append_decomposed(code.value, out);
    at += code.length;
  }
  sort_marks(out);
  return out;
}

// The composite of two code points; 0 if there is none.
char32_t composed(char32_t first, char32_t second) {
  if (first - kLeads < kNumLeads && second - kVowels < kNumVowels) {
    return kSyllables +
           ((first - kLeads) * kNumVowels + (second - kVowels)) * kNumTrails;
  }
  const bool open_syllable = first - kSyllables < kNumSyllables &&
                             (first - kSyllables) % kNumTrails == 0;
  if (open_syllable && second > kTrails && second < kTrails + kNumTrails) {
    return first + (second - kTrails);
  }
  const Compositions& all = normal_forms().compositions;
  const auto found = all.find(pair_key(first, second));
  return found == all.end() ? 0 : found->second;
}

// Joins each code point with the last starter before it, unless a mark of the
// same or a higher class or another starter lies between them.
void compose(std::u32string& text) {
  size_t size = 0;  // length of the composed text so far
  size_t starter = std::u32string::npos;
  int last_class = -1;  // class of the last mark after the starter; -1 if none
  for (const char32_t code : text) {
    const int own_class = combining_class(code);
    if (starter != std::u32string::npos && last_class < own_class) {
      const char32_t composite = composed(text[starter], code);
      if (composite != 0) {
        text[starter] = composite;
        continue;
      }
    }
    if (own_class == 0) {
      starter = size;
      last_class = -1;
    } else {
      last_class = own_class;
    }
    text[size++] = code;
  }
  text.resize(size);
}

std::string to_utf8(const std::u32string& text) {
  std::string out;
  out.reserve(text.size());
  for (const char32_t code : text) append_utf8(code, out);
  return out;
}

using LowercaseTable = std::unordered_map<char32_t, char32_t>;

LowercaseTable lowercase_table() {
  LowercaseTable table;
  char32_t first = 0;
  for (const std::int32_t* run = std::begin(kLowercaseRuns);
       run < std::end(kLowercaseRuns); run += 4) {
    const std::int32_t count = run[1], stride = run[2], offset = run[3];
    first += static_cast<char32_t>(run[0]);
    for (std::int32_t i = 0; i < count; ++i) {
      const char32_t upper = first + static_cast<char32_t>(i * stride);
      table[upper] = upper + static_cast<char32_t>(offset);
    }
  }
  return table;
}

}  // namespace

const ClassTable& char_classes() {
  static const std::unique_ptr<ClassTable> kTable = expanded(kClassRuns);
  return *kTable;
}

void append_lowercase(char32_t code, std::string& out) {
  static const LowercaseTable kTable = lowercase_table();
  // The only character whose lower case has two code points.
  if (code == 0x130) {
    out += "i\xCC\x87";
    return;
  }
  const auto found = kTable.find(code);
  append_utf8(found == kTable.end() ? code : found->second, out);
}

std::string nfd(std::string_view text) { return to_utf8(decomposed(text)); }

std::string nfc(std::string_view text) {
  std::u32string codes = decomposed(text);
  compose(codes);
  return to_utf8(codes);
}

bool may_need_nfc(std::string_view text) {
  const ClassTable& classes = char_classes();
  for (size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    const CodePoint code = code_point_at(text, at);
    if ((classes[code.value] & kUnsettled) != 0) return true;
    at += code.length;
  }
  return false;
}

}  // namespace chimera
