// JSON Lines: one object a line, blank lines passed over. A file of millions
// of lines tends to have the same mistake in all of them, so the first mistake
// of a line is reported, and those of the first ten lines that have one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "chimera/base/json_reader.h"
#include "chimera/base/result.h"

namespace chimera {

struct JsonlText {
  std::string_view text;
  std::string path;  // for messages
};

// Calls read_line at the beginning of every line that is not blank; it must
// read exactly one value. Gives the mistakes, the reader's own renamed to the
// codes of data.
[[nodiscard]] Diagnostics read_lines(
    const JsonlText& jsonl, const std::function<void(JsonReader&)>& read_line);

struct JoinedTexts {
  std::vector<char> bytes = {};
  // End of each text, its newline included.
  std::vector<std::int64_t> ends = {};
};

// The "text" of all lines as bytes, a newline byte between two of them. Other
// keys are passed over. ENSURES: at least one byte, those of the texts below
// `vocab`.
[[nodiscard]] Result<JoinedTexts> join_documents(const JsonlText& jsonl,
                                                 int vocab);

// Whether the first line carries prepared input_ids.
[[nodiscard]] bool is_prepared(const JsonlText& jsonl);

}  // namespace chimera
