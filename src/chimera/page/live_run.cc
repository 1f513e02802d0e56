// A client keeps a copy of the run and asks only for what is new. The version
// in each answer tells whether that copy can still be extended. It changes if a
// file that is only read as a whole has changed, if metrics.jsonl was read
// again from its start, and if a curve has merged its groups, because all of
// these change what the client has already. The client then loads everything
// again.
#include "chimera/page/live_run.h"

#include <fmt/format.h>

#include <filesystem>

#include "chimera/page/html.h"
#include "chimera/page/run_json.h"

namespace chimera {

Result<LiveRun> LiveRun::open(const std::string& path) {
  const PageBudget budget = budget_for(1);
  Result<RunRecord> record = read_run(path, budget);
  if (!record) return record.errors();
  LiveRun run(std::move(record).value(), budget);
  run.metrics_.read_more();
  return run;
}

LiveRun::LiveRun(RunRecord record, const PageBudget& budget)
    : budget_(budget),
      record_(std::move(record)),
      metrics_(record_.path + "/metrics.jsonl", budget.curve_groups),
      stamp_(stamp()) {}

std::string LiveRun::stamp() const {
  namespace fs = std::filesystem;
  std::string text;
  for (const char* name : {"config.toml", "schedule.sched", "replanned.sched",
                           "trace.json", "memory.json", "machine.json"}) {
    const fs::path path = fs::path(record_.path) / name;
    std::error_code error;
    const auto size = fs::file_size(path, error);
    if (error) continue;
    const auto time = fs::last_write_time(path, error).time_since_epoch();
    text += fmt::format("{} {} {};", name, size, time.count());
  }
  return text;
}

void LiveRun::refresh() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_refresh_) return;  // several clients ask at once
  next_refresh_ = now + std::chrono::milliseconds(200);
  metrics_.read_more();
  if (const std::string seen = stamp(); seen != stamp_) {
    const Result<RunRecord> record = read_run(record_.path, budget_);
    if (record) {
      record_ = *record;
      stamp_ = seen;
      ++readings_;
    }
  }
  refresh_state(record_);
}

std::string LiveRun::version() const {
  return fmt::format("{}.{}.{}", readings_, metrics_.restarts(),
                     metrics_.metrics().group_sizes());
}

std::string LiveRun::page() const {
  return make_page({{record_, metrics_.metrics()}},
                   {.live_path = "./", .version = version()});
}

std::string LiveRun::run() const {
  return run_json(record_, metrics_.metrics(), version());
}

std::string LiveRun::update(std::string_view version, int from) const {
  if (version != this->version()) return "{\"reload\":true}";
  return update_json(record_, metrics_.metrics(), from);
}

}  // namespace chimera
