// The files of a corpus: what they are is told by the ends of their names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chimera/base/result.h"

namespace chimera {

enum class Compression : std::uint8_t { kNone, kGzip, kZstd };

// What a document of a file is.
enum class DocumentKind : std::uint8_t {
  kFile,        // all of it
  kJsonLine,    // the "text" of a line
  kBlankLines,  // what stands between blank lines
};

struct InputFile {
  std::string path;
  DocumentKind documents = DocumentKind::kFile;  // .jsonl: kJsonLine
  Compression compression = Compression::kNone;  // .gz, .zst behind that
  std::int64_t bytes = 0;                        // as stored
};

// The files that the paths name, in their order; those of a directory, and of
// all below it, sorted by name, without those whose name starts with a dot.
// Refuses what is not there and what is no text by its name.
[[nodiscard]] Result<std::vector<InputFile>> find_inputs(
    const std::vector<std::string>& paths);

// The refusal of a file that cannot be read.
[[nodiscard]] Diagnostic unreadable(const std::string& path,
                                    const std::string& reason);

}  // namespace chimera
