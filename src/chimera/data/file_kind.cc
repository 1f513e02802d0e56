#include "chimera/data/file_kind.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace chimera {
namespace {

using namespace std::string_view_literals;

// Magic bytes of a file format: at least three, so that hardly any list of ids
// starts with them by chance.
struct Magic {
  std::string_view bytes;  // first bytes of the file
  const char* kind;
  const char* hint;
};

constexpr const char* kFromNumpy =
    "write the ids alone: numpy.load(FILE).astype(\"uint16\").tofile(\"x.bin\")"
    ", uint32 for more than 65536 ids";
constexpr const char* kUnpack =
    "unpack it, or turn packed text into ids with chimera tokenize";
constexpr const char* kFromTable =
    "write its texts as .jsonl, one {\"text\": ...} a line";
constexpr const char* kOther = "name a text, .jsonl or .bin file of token ids";

constexpr auto kMagics = std::to_array<Magic>({
    {"\x93NUMPY"sv, "a NumPy file (.npy)", kFromNumpy},
    {"\x1f\x8b\x08"sv, "packed by gzip", kUnpack},
    {"\x28\xb5\x2f\xfd"sv, "packed by zstd", kUnpack},
    {"BZh91AY&SY"sv, "packed by bzip2", kUnpack},
    {"\xfd\x37zXZ\0"sv, "packed by xz", kUnpack},
    {"PK\x03\x04"sv, "a zip archive (.zip, .npz, .pt)", kUnpack},
    {"PAR1"sv, "a Parquet file", kFromTable},
    {"ARROW1"sv, "an Arrow file", kFromTable},
    {"\x89HDF\r\n\x1a\n"sv, "an HDF5 file", kFromTable},
    {"SQLite format 3\0"sv, "an SQLite database", kFromTable},
    {"MMIDIDX\0\0"sv, "Megatron's index (.idx)",
     "name the .bin file that lies beside it"},
    {"\x7f"
     "ELF"sv,
     "a program", kOther},
    {"%PDF-"sv, "a PDF file", kOther},
});

// True for eight bytes that give the length of a JSON object, followed by it.
bool is_safetensors(std::string_view bytes) {
  if (bytes.size() < 10 || bytes.substr(8, 2) != "{\"") return false;
  return bytes.substr(4, 4) == "\0\0\0\0"sv;
}

Diagnostic refused(const std::string& path, const std::string& kind,
                   const std::string& hint) {
  return {.kind = DiagnosticKind::kData,
          .code = "E514",
          .where = path,
          .found = "the file",
          .needed = "seems to be " + kind + ", not text or token ids",
          .hint = hint};
}

// The largest of every `stride`-th id, starting at `first`.
std::int64_t largest(const TokenIds& ids, std::int64_t first,
                     std::int64_t stride) {
  constexpr std::int64_t kLook = 1 << 16;
  std::int64_t most = 0;
  for (std::int64_t i = first; i < std::min(ids.size(), kLook); i += stride) {
    most = std::max(most, ids[i]);
  }
  return most;
}

// Refuses a file whose zeros show that its ids have `bits` bits.
Diagnostic wide(const TokenIds& ids, const std::string& path, int bits,
                const std::string& zeros) {
  return {
      .kind = DiagnosticKind::kData,
      .code = "E515",
      .where = path,
      .found = "the file, read as uint" + std::to_string(8 * ids.width()) + ",",
      .needed = "seems to hold int" + std::to_string(bits) + " ids: " + zeros,
      .hint = bits == 32 ? "set data.token_type = \"uint32\""
                         : "write it anew: numpy.fromfile(FILE, \"int64\")"
                           ".astype(\"uint32\").tofile(FILE), then set "
                           "data.token_type = \"uint32\""};
}

}  // namespace

std::optional<Diagnostic> other_kind(const MappedFile& file) {
  const std::string_view bytes = file.bytes();
  for (const Magic& magic : kMagics) {
    if (bytes.starts_with(magic.bytes)) {
      return refused(file.path(), magic.kind, magic.hint);
    }
  }
  if (is_safetensors(bytes)) {
    return refused(file.path(), "a safetensors file, the weights of a model",
                   "weights are named by model.init; name text or ids here");
  }
  return std::nullopt;
}

std::optional<Diagnostic> wider_ids(const TokenIds& ids,
                                    const std::string& path) {
  constexpr std::int64_t kLeast = 8;     // fewer ids prove nothing
  constexpr std::int64_t kMostHigh = 3;  // upper 16 bits of an id below 2^18
  // A value that exceeds any byte, so that the file cannot be a list of bytes.
  constexpr std::int64_t kLeastLow = 256;
  if (ids.width() < 2 || ids.size() < kLeast) return std::nullopt;
  const std::int64_t low = largest(ids, 0, 2);
  const std::int64_t high = largest(ids, 1, 2);
  if (high == 0 && low > 0) {
    if (ids.width() == 4) {
      return wide(ids, path, 64, "every second number is 0");
    }
    return largest(ids, 2, 4) == 0
               ? wide(ids, path, 64, "three of four numbers are 0")
               : wide(ids, path, 32, "every second number is 0");
  }
  if (ids.width() == 2 && high <= kMostHigh && low >= kLeastLow) {
    return wide(ids, path, 32,
                "every second number is at most " + std::to_string(high));
  }
  return std::nullopt;
}

}  // namespace chimera
