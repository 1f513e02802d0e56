// A schedule as text, out and in. docs/schedule_format.md describes the
// formats; every reader is bounded by the size of what it reads, whatever
// counts the text claims, and reports all mistakes it can find at once.
#pragma once

#include <string>
#include <string_view>

#include "chimera/base/result.h"
#include "chimera/schedule/schedule.h"

namespace chimera {

// design 6.2: format "chimera-schedule-1".
[[nodiscard]] std::string to_json(const Schedule& schedule);
[[nodiscard]] Result<Schedule> parse_json(std::string_view text,
                                          const std::string& file_name);

// The round-trip text: one line per fact, one line per worker.
[[nodiscard]] std::string to_sched(const Schedule& schedule);
[[nodiscard]] Result<Schedule> parse_sched(std::string_view text,
                                           const std::string& file_name);

// One row a worker, one cell an action (cell.h). Says nothing of scheme, width
// and groups. Reading gives the groups that the placement needs, width 2 where
// stages with one holder are summed, and the scheme "custom", or that of
// PipeDream's two whose updates the cells show.
[[nodiscard]] std::string to_csv(const Schedule& schedule);
[[nodiscard]] Result<Schedule> parse_csv(std::string_view text,
                                         const std::string& file_name);

// What torch.distributed.pipelining's _load_csv reads (compute-only form).
// Refused where torch has no word for it: a stage on several workers, backward
// parts, updates inside the list.
[[nodiscard]] Result<std::string> to_torch_csv(const Schedule& schedule);

// Whichever of json, sched and csv `text` is, told by its first character or
// word.
[[nodiscard]] Result<Schedule> parse_schedule(std::string_view text,
                                              const std::string& file_name);

}  // namespace chimera
