#include "chimera/tokenizer/corpus/megatron_index.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string_view>

#include "chimera/base/files.h"

namespace chimera {
namespace {

using namespace std::string_view_literals;
constexpr std::string_view kMagic = "MMIDIDX\0\0"sv;
constexpr std::uint64_t kVersion = 1;
constexpr std::uint8_t kUint8 = 1, kInt32 = 4, kUint16 = 8;

Diagnostic broken(const std::string& path, const std::string& found,
                  const std::string& needed, const std::string& hint) {
  return {.kind = DiagnosticKind::kData,
          .code = "E516",
          .where = path,
          .found = found,
          .needed = needed,
          .hint = hint};
}

// Reads numbers from the front of a text, and records whether it was long
// enough.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : rest_(bytes) {}

  template <class T>
  T number() {
    T value{};
    const std::string_view bytes = take(sizeof(T));
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }

  // Takes `count` numbers of `size` bytes; empty if there are fewer.
  std::string_view take(std::uint64_t count, std::uint64_t size = 1) {
    if (count > rest_.size() / size) {
      is_short_ = true;
      return {};
    }
    const std::string_view taken = rest_.substr(0, count * size);
    rest_.remove_prefix(taken.size());
    return taken;
  }

  [[nodiscard]] bool is_short() const { return is_short_; }

 private:
  std::string_view rest_;
  bool is_short_ = false;
};

// The i-th of a list of numbers, which may be unaligned.
template <class T>
T number_at(std::string_view list, std::uint64_t i) {
  T value{};
  std::memcpy(&value, list.data() + i * sizeof(T), sizeof(T));
  return value;
}

int bytes_of(std::uint8_t type) {
  if (type == kUint8) return 1;
  if (type == kUint16) return 2;
  return type == kInt32 ? 4 : 0;
}

template <class T>
void append(T value, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Appends the lengths of a document's sequences. A document of more ids than an
// int32 can count becomes several sequences.
void append_lengths(std::int64_t length, std::vector<std::int32_t>& lengths) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  for (; length > kMost; length -= kMost) {
    lengths.push_back(static_cast<std::int32_t>(kMost));
  }
  lengths.push_back(static_cast<std::int32_t>(length));
}

}  // namespace

std::string index_path(const std::string& corpus) {
  return std::filesystem::path(corpus).replace_extension(".idx").string();
}

Result<MegatronIndex> parse_megatron_index(std::string_view bytes,
                                           const std::string& path) {
  const std::string again = "fetch it again, or write the corpus anew";
  if (!bytes.starts_with(kMagic)) {
    return broken(path, "the file", "is not a Megatron index", again);
  }
  Cursor cursor(bytes.substr(kMagic.size()));
  const auto version = cursor.number<std::uint64_t>();
  const auto type = cursor.number<std::uint8_t>();
  const auto sequences = cursor.number<std::uint64_t>();
  const auto documents = cursor.number<std::uint64_t>();
  const std::string_view lengths = cursor.take(sequences, 4);
  const std::string_view places = cursor.take(sequences, 8);
  const std::string_view firsts = cursor.take(documents, 8);
  if (cursor.is_short()) {
    return broken(path, "the index", "is cut short", again);
  }
  if (version != kVersion) {
    return broken(path, "version " + std::to_string(version),
                  "is unknown; 1 can be read", again);
  }
  MegatronIndex index{.bytes_per_id = bytes_of(type)};
  if (index.bytes_per_id == 0) {
    return broken(path, "type " + std::to_string(type) + " of ids",
                  "cannot be read; uint8, uint16 and int32 can",
                  "write the corpus anew");
  }
  std::vector<std::int64_t> ends{0};  // ends of sequences, in tokens
  ends.reserve(sequences + 1);
  for (std::uint64_t i = 0; i < sequences; ++i) {
    const auto length = number_at<std::int32_t>(lengths, i);
    if (length < 0 || number_at<std::int64_t>(places, i) !=
                          ends.back() * index.bytes_per_id) {
      return broken(path, "sequence " + std::to_string(i),
                    "does not begin where the one before ends", again);
    }
    ends.push_back(ends.back() + length);
  }
  index.tokens = ends.back();
  std::int64_t last = 0;
  for (std::uint64_t i = 0; i < documents; ++i) {
    const auto first = number_at<std::int64_t>(firsts, i);
    if (first < last || first > static_cast<std::int64_t>(sequences)) {
      return broken(path, "document " + std::to_string(i),
                    "begins before the one before it, or nowhere", again);
    }
    last = first;
    if (i > 0) index.document_ends.push_back(ends[static_cast<size_t>(first)]);
  }
  return index;
}

void write_megatron_index(const std::string& path, const MegatronIndex& index) {
  std::vector<std::int32_t> lengths;
  std::vector<std::int64_t> firsts{0};
  std::int64_t begin = 0;
  for (const std::int64_t end : index.document_ends) {
    append_lengths(end - begin, lengths);
    firsts.push_back(static_cast<std::int64_t>(lengths.size()));
    begin = end;
  }
  std::string bytes(kMagic);
  append(kVersion, bytes);
  append(index.bytes_per_id == 2 ? kUint16 : kInt32, bytes);
  append(static_cast<std::uint64_t>(lengths.size()), bytes);
  append(static_cast<std::uint64_t>(firsts.size()), bytes);
  for (const std::int32_t length : lengths) append(length, bytes);
  std::int64_t place = 0;
  for (const std::int32_t length : lengths) {
    append(place, bytes);
    place += std::int64_t{length} * index.bytes_per_id;
  }
  for (const std::int64_t first : firsts) append(first, bytes);
  write_file(path, bytes);
}

}  // namespace chimera
