// TensorBoard event files: scalars and text, as TensorBoard reads them. A file
// only grows, one whole record at a time, so it can be read while it is written
// and is sound after a kill.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chimera/base/files.h"

namespace chimera {

using Scalars = std::vector<std::pair<std::string, double>>;  // tag, value

class EventFile {
 public:
  // A new file in `directory`, which is made if need be. Each part of a run (a
  // start, a resume) has a file of its own; TensorBoard joins them. `writer`
  // (host and process) keeps names apart that start in the same second.
  // Throws IoError.
  EventFile(const std::string& directory, const std::string& writer,
            double wall_time);

  // What is not a finite number is kept as it is: TensorBoard marks it.
  // `wall_time` in seconds since 1970. Throws IoError.
  void add_scalars(std::int64_t step, double wall_time, const Scalars& scalars);
  // `text` is Markdown; indent it by four blanks to have it shown as it is.
  void add_text(std::int64_t step, double wall_time, const std::string& tag,
                const std::string& text);

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  AppendFile file_;
};

// CRC-32C (Castagnoli), the check sum of the records.
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes);

}  // namespace chimera
