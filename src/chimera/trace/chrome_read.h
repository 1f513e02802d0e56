// The way back from trace.json to a Trace.
#pragma once

#include <string>
#include <string_view>

#include "chimera/base/result.h"
#include "chimera/trace/trace.h"

namespace chimera {

// The events that write_chrome_trace wrote, in the file's order; what else the
// file holds is passed over. Causes and versions are not stored, so they come
// back as kNone: merge_ranks finds the causes again. `us_per_unit` as it was
// written. A file that ends early gives the events before its end.
//
// E101 if nothing in `text` is such an event. Counts are not checked against
// any schedule: workers is the highest one named, plus 1.
[[nodiscard]] Result<Trace> read_chrome_trace(std::string_view text,
                                              const std::string& file_name,
                                              double us_per_unit);

}  // namespace chimera
