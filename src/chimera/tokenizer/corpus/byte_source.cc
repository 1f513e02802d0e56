#include "chimera/tokenizer/corpus/byte_source.h"

#include <zlib.h>
#include <zstd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace chimera {
namespace {

Diagnostic damaged(const std::string& path, const std::string& reason) {
  return {.kind = DiagnosticKind::kData,
          .code = "E712",
          .where = path,
          .found = "the packed file",
          .needed = "is damaged or cut short: " + reason,
          .hint = "fetch it again"};
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

class PlainSource : public ByteSource {
 public:
  PlainSource(std::string path, File file)
      : path_(std::move(path)), file_(std::move(file)) {}

  Result<size_t> read(std::span<char> out) override {
    const size_t count = std::fread(out.data(), 1, out.size(), file_.get());
    if (std::ferror(file_.get()) != 0) {
      return unreadable(path_, std::strerror(errno));
    }
    position_ += static_cast<std::int64_t>(count);
    return count;
  }
  [[nodiscard]] std::int64_t position() const override { return position_; }

 private:
  std::string path_;
  File file_;
  std::int64_t position_ = 0;
};

class GzipSource : public ByteSource {
 public:
  GzipSource(std::string path, gzFile file)
      : path_(std::move(path)), file_(file) {
    gzbuffer(file_, 1U << 17);
  }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;
  ~GzipSource() override { gzclose(file_); }

  Result<size_t> read(std::span<char> out) override {
    const int count =
        gzread(file_, out.data(), static_cast<unsigned>(out.size()));
    int code = Z_OK;
    const char* reason = gzerror(file_, &code);
    if (count < 0 || (code != Z_OK && code != Z_STREAM_END)) {
      return damaged(path_, reason);
    }
    if (gzdirect(file_) != 0 && count > 0) return damaged(path_, "no gzip");
    return static_cast<size_t>(count);
  }
  [[nodiscard]] std::int64_t position() const override {
    return gzoffset(file_);
  }

 private:
  std::string path_;
  gzFile file_;
};

struct FreeContext {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

class ZstdSource : public ByteSource {
 public:
  ZstdSource(std::string path, File file)
      : path_(std::move(path)),
        file_(std::move(file)),
        context_(ZSTD_createDCtx()),
        packed_(ZSTD_DStreamInSize()) {}

  Result<size_t> read(std::span<char> out) override {
    ZSTD_outBuffer unpacked{out.data(), out.size(), 0};
    while (unpacked.pos < unpacked.size) {
      if (input_.pos == input_.size && !refill()) {
        if (std::ferror(file_.get()) != 0) {
          return unreadable(path_, std::strerror(errno));
        }
        if (left_ != 0) return damaged(path_, "it ends inside a frame");
        break;
      }
      left_ = ZSTD_decompressStream(context_.get(), &unpacked, &input_);
      if (ZSTD_isError(left_) != 0) {
        return damaged(path_, ZSTD_getErrorName(left_));
      }
    }
    return unpacked.pos;
  }
  [[nodiscard]] std::int64_t position() const override { return position_; }

 private:
  bool refill() {
    const size_t count =
        std::fread(packed_.data(), 1, packed_.size(), file_.get());
    position_ += static_cast<std::int64_t>(count);
    input_ = {packed_.data(), count, 0};
    return count > 0;
  }

  std::string path_;
  File file_;
  std::unique_ptr<ZSTD_DCtx, FreeContext> context_;
  std::vector<char> packed_;
  ZSTD_inBuffer input_{nullptr, 0, 0};
  // Bytes left in the frame, by zstd's estimate; 0 at its end.
  size_t left_ = 0;
  std::int64_t position_ = 0;
};

// First bytes of files that are not text.
struct Magic {
  std::string_view bytes;
  const char* kind;
};
constexpr Magic kMagics[] = {
    {"\x1F\x8B", "gzip: its name must end in .gz"},
    {"\x28\xB5\x2F\xFD", "zstd: its name must end in .zst"},
    {"PK\x03\x04", "a zip archive"},
    {"PAR1", "parquet"},
    {"\x93NUMPY", "a NumPy array"},
    {"BZh", "bzip2"},
    {"\xFD"
     "7zXZ",
     "xz"},
};

// Checks the first bytes of a plain file; nullopt if it may be text.
std::optional<Diagnostic> other_kind(const std::string& path, std::FILE* file) {
  char first[8] = {};
  const size_t count = std::fread(first, 1, sizeof first, file);
  std::rewind(file);
  for (const Magic& magic : kMagics) {
    if (!std::string_view(first, count).starts_with(magic.bytes)) continue;
    return Diagnostic{.kind = DiagnosticKind::kData,
                      .code = "E711",
                      .where = path,
                      .found = "the file",
                      .needed = std::string("is not text but ") + magic.kind,
                      .hint = "name text or JSONL files, plain, .gz or .zst"};
  }
  return std::nullopt;
}

}  // namespace

Result<std::unique_ptr<ByteSource>> open_bytes(const InputFile& file) {
  if (file.compression == Compression::kGzip) {
    gzFile packed = gzopen(file.path.c_str(), "rb");
    if (packed == nullptr) {
      return unreadable(file.path, std::strerror(errno));
    }
    return std::unique_ptr<ByteSource>(
        std::make_unique<GzipSource>(file.path, packed));
  }
  File opened(std::fopen(file.path.c_str(), "rb"));
  if (!opened) return unreadable(file.path, std::strerror(errno));
  if (file.compression == Compression::kZstd) {
    return std::unique_ptr<ByteSource>(
        std::make_unique<ZstdSource>(file.path, std::move(opened)));
  }
  if (auto other = other_kind(file.path, opened.get())) return *other;
  return std::unique_ptr<ByteSource>(
      std::make_unique<PlainSource>(file.path, std::move(opened)));
}

}  // namespace chimera
