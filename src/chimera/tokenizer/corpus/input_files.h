// Finds the files of a corpus. Their extensions tell what they are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chimera/base/result.h"

namespace chimera {

enum class Compression : std::uint8_t { kNone, kGzip, kZstd };

// What counts as a document.
enum class DocumentKind : std::uint8_t {
  kFile,        // the whole file
  kJsonLine,    // the "text" of a line
  kBlankLines,  // the text between blank lines
};

struct InputFile {
  std::string path;
  DocumentKind documents = DocumentKind::kFile;  // .jsonl: kJsonLine
  Compression compression = Compression::kNone;  // from the suffix .gz or .zst
  std::int64_t bytes = 0;                        // as stored
};

// Returns the files that `paths` name, in order. A directory stands for all
// files below it, sorted by name, except those whose name starts with a dot.
// Refuses missing files and those whose extension is not text.
[[nodiscard]] Result<std::vector<InputFile>> find_inputs(
    const std::vector<std::string>& paths);

// The error for a file that cannot be read.
[[nodiscard]] Diagnostic unreadable(const std::string& path,
                                    const std::string& reason);

}  // namespace chimera
