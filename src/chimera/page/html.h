// Makes the page: one HTML file with everything in it.
#pragma once

#include <string>
#include <vector>

#include "chimera/page/metrics.h"
#include "chimera/page/run_record.h"

namespace chimera {

struct PageRun {
  const RunRecord& record;
  const Metrics& metrics;
};

struct PageOptions {
  // If set, the page asks a server below this path for updates.
  std::string live_path = {};
  std::string version = {};  // version of the run, as in run_json
};

// The summary is HTML; everything else is drawn by the script from embedded,
// escaped JSON. Nothing is loaded from elsewhere. REQUIRES: at least one run.
[[nodiscard]] std::string make_page(const std::vector<PageRun>& runs,
                                    const PageOptions& options = {});

}  // namespace chimera
