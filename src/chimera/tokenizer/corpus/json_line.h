// A line of a JSONL corpus.
#pragma once

#include <optional>
#include <string>

#include "chimera/base/json_reader.h"

namespace chimera {

// Reads an object and returns its "text"; other keys are skipped. Records E509
// and returns nullopt if there is none.
[[nodiscard]] std::optional<std::string> read_line_text(JsonReader& reader);

}  // namespace chimera
