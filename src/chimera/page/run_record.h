// The contents of a run directory for a page, bounded in size.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/config/run_config.h"
#include "chimera/page/mark.h"
#include "chimera/page/metrics.h"
#include "chimera/page/run_files.h"
#include "chimera/page/timeline.h"
#include "chimera/page/waits.h"
#include "chimera/plan/memory_model.h"
#include "chimera/schedule/schedule.h"

namespace chimera {

// The share of a page that one run may take; several runs share a page.
struct PageBudget {
  std::size_t curve_groups = 2048;      // per curve
  std::size_t events = 40000;           // in all timelines
  std::size_t schedule_bytes = 200000;  // limit of the schedule's text
};
[[nodiscard]] PageBudget budget_for(std::size_t num_runs);

// The parts of a run that are read only once, and again when the files of a
// finished run appear.
struct RunRecord {
  std::string name;  // name of the directory
  std::string path;
  std::string config_text;
  std::string schedule_text;  // empty if too long
  std::optional<RunConfig> config;
  std::optional<Schedule> schedule;  // lowered
  StateFile state;
  MachineFile machine;
  MemoryFile memory;
  std::vector<Mark> marks;                   // sorted by step
  std::vector<WorkerBytes> predicted_bytes;  // [worker] of one copy
  std::vector<Timeline> timelines;           // planned one first
  std::string time_unit;                     // of all timelines: "s" or "units"
  std::vector<WorkerTime> planned_times;     // [worker] of one copy
  std::vector<WorkerTime> measured_times;    // [rank], over all traced steps
  std::vector<std::string> notes;            // what is not shown, and why
};

// E411 if `path` holds nothing that `train` writes. Anything else that is
// missing or damaged becomes a note.
[[nodiscard]] Result<RunRecord> read_run(const std::string& path,
                                         const PageBudget& budget);

// Reads again what changes during a run: state and marks.
void refresh_state(RunRecord& record);

}  // namespace chimera
