// Writes TensorBoard event files with scalars and text. A file only grows, one
// whole record at a time, so it can be read while it is written and stays
// readable after a kill.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chimera/base/files.h"

namespace chimera {

using Scalars = std::vector<std::pair<std::string, double>>;  // (tag, value)

class EventFile {
 public:
  // Creates a file in `directory`, and the directory if needed. Each start and
  // each resume of a run writes a new file; TensorBoard joins them. `writer`
  // (host and process) distinguishes files made in the same second. Throws
  // IoError.
  EventFile(const std::string& directory, const std::string& writer,
            double wall_time);

  // Adds one value per tag. Infinities and NaN are written unchanged:
  // TensorBoard marks them. `wall_time` is in seconds since 1970. Throws
  // IoError.
  void add_scalars(std::int64_t step, double wall_time, const Scalars& scalars);
  // Adds a Markdown text; four blanks before each line show it verbatim.
  void add_text(std::int64_t step, double wall_time, const std::string& tag,
                const std::string& text);

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  AppendFile file_;
};

// The CRC-32C (Castagnoli) checksum that guards the records.
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes);

}  // namespace chimera
