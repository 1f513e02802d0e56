// Facts about a run in words: the page's summary, which needs no script.
#pragma once

#include <string>
#include <vector>

#include "chimera/page/metrics.h"
#include "chimera/page/run_record.h"

namespace chimera {

struct Fact {
  std::string group;  // Result, Model, Layout, Training, Machine
  std::string label;
  std::string value;
  // Shown in large type above all others.
  bool is_headline = false;

  bool operator==(const Fact&) const = default;
};

// All facts that are known, ordered by group.
[[nodiscard]] std::vector<Fact> facts_of(const RunRecord& record,
                                         const Metrics& metrics);

// Examples: "1.24 M", "350", "0.0012": three or four digits and a prefix.
[[nodiscard]] std::string short_number(double value);
// Examples: "4:05:06", "4:05", "12.3 s", "14.2 ms".
[[nodiscard]] std::string short_time(double seconds);
// Example: "1.5 GB".
[[nodiscard]] std::string short_bytes(double bytes);

}  // namespace chimera
