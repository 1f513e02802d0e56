// JSON Lines: one object per line; blank lines are skipped. Since a file of
// millions of lines tends to have the same mistake in all of them, only the
// first mistake of a line is reported, and only for the first ten bad lines.
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
// read exactly one value. Returns all mistakes; those that the JSON reader
// itself finds get codes of data errors.
[[nodiscard]] Diagnostics read_lines(
    const JsonlText& jsonl, const std::function<void(JsonReader&)>& read_line);

struct JoinedTexts {
  std::vector<char> bytes = {};
  // End of each text, including its newline.
  std::vector<std::int64_t> ends = {};
};

// The "text" of all lines as bytes, with a newline byte between two texts.
// Other keys are skipped. ENSURES: at least one byte; the bytes of the texts
// are below `vocab`.
[[nodiscard]] Result<JoinedTexts> join_documents(const JsonlText& jsonl,
                                                 int vocab);

// True if the first line has prepared input_ids.
[[nodiscard]] bool is_prepared(const JsonlText& jsonl);

}  // namespace chimera
