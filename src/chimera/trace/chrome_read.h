// Reads the trace.json that write_chrome_trace wrote back into a Trace.
#pragma once

#include <string>
#include <string_view>

#include "chimera/base/result.h"
#include "chimera/trace/trace.h"

namespace chimera {

// The events that write_chrome_trace wrote, in the file's order; anything else
// in the file is skipped. Causes and versions are not stored and are read as
// kNone; merge_ranks finds the causes again. A file that ends early gives the
// events before its end.
// REQUIRES: `us_per_unit` is the one the file was written with.
//
// Returns E101 if `text` holds no such event. Counts are not checked against
// any schedule: the trace has as many workers as the highest one named, plus 1.
[[nodiscard]] Result<Trace> read_chrome_trace(std::string_view text,
                                              const std::string& file_name,
                                              double us_per_unit);

}  // namespace chimera
