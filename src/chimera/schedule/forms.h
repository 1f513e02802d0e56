// Text forms of a schedule, written and read; docs/schedule-format.md describes
// them. Every reader's memory is bounded by the size of the text, whatever
// counts the text claims, and every reader reports all mistakes it finds.
#pragma once

#include <string>
#include <string_view>

#include "chimera/base/result.h"
#include "chimera/schedule/schedule.h"

namespace chimera {

// JSON, format "chimera-schedule-1".
[[nodiscard]] std::string to_json(const Schedule& schedule);
[[nodiscard]] Result<Schedule> parse_json(std::string_view text,
                                          const std::string& file_name);

// sched, which round-trips: one line per fact, one line per worker.
[[nodiscard]] std::string to_sched(const Schedule& schedule);
[[nodiscard]] Result<Schedule> parse_sched(std::string_view text,
                                           const std::string& file_name);

// csv: one row per worker, one cell per action (cell.h). It omits scheme, width
// and groups. Reading infers them: the groups that the placement needs, width 2
// if stages with one holder are summed, and the scheme "custom", or the
// PipeDream variant whose updates the cells show.
[[nodiscard]] std::string to_csv(const Schedule& schedule);
[[nodiscard]] Result<Schedule> parse_csv(std::string_view text,
                                         const std::string& file_name);

// The compute-only csv that torch.distributed.pipelining's _load_csv reads.
// Refused if torch cannot express the schedule: a stage on several workers,
// backward parts, updates inside the list.
[[nodiscard]] Result<std::string> to_torch_csv(const Schedule& schedule);

// Reads json, sched or csv, recognised by the first character or word.
[[nodiscard]] Result<Schedule> parse_schedule(std::string_view text,
                                              const std::string& file_name);

}  // namespace chimera
