// Reads the bytes of a file, decompressing as it goes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "chimera/base/result.h"
#include "chimera/tokenizer/corpus/input_files.h"

namespace chimera {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills `out` from its start. Returns the number of bytes, 0 at the end.
  // Refuses a file that cannot be read or is damaged. REQUIRES: !out.empty().
  [[nodiscard]] virtual Result<size_t> read(std::span<char> out) = 0;
  // Number of bytes of the stored file consumed so far.
  [[nodiscard]] virtual std::int64_t position() const = 0;
};

// Refuses files that cannot be opened, and those whose first bytes show that
// they are compressed or binary.
[[nodiscard]] Result<std::unique_ptr<ByteSource>> open_bytes(
    const InputFile& file);

}  // namespace chimera
