// Follows a run while it grows, and answers the requests of `watch`.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "chimera/base/result.h"
#include "chimera/page/metrics.h"
#include "chimera/page/run_record.h"

namespace chimera {

// Memory is bounded by the page's budget, however long the run is.
class LiveRun {
 public:
  // E411 as for read_run.
  [[nodiscard]] static Result<LiveRun> open(const std::string& path);

  // Looks for new lines and files, unless it did so a moment ago.
  void refresh();

  // The page. Its script requests update.json and run.json beside it.
  [[nodiscard]] std::string page() const;
  // run.json: the whole run, with its version.
  [[nodiscard]] std::string run() const;
  // update.json: what is new for a client that has everything up to step `from`
  // of `version`; {"reload":true} if it must request run.json.
  [[nodiscard]] std::string update(std::string_view version, int from) const;

 private:
  LiveRun(RunRecord record, const PageBudget& budget);

  [[nodiscard]] std::string version() const;
  // A fingerprint of the files that are only read as a whole: it changes
  // whenever one of them does.
  [[nodiscard]] std::string stamp() const;

  PageBudget budget_;
  RunRecord record_;
  MetricsFile metrics_;
  std::string stamp_;
  int readings_ = 0;  // how often record_ was read
  std::chrono::steady_clock::time_point next_refresh_ = {};
};

}  // namespace chimera
