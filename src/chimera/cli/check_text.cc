#include "chimera/cli/check_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "chimera/base/text.h"
#include "chimera/schedule/cell.h"

namespace chimera {
namespace {

// Shows the action with its neighbours in the list, marked.
std::string marked(const Schedule& schedule, const Violation& violation) {
  constexpr int kAround = 4;
  const ActionList& list = schedule.actions[violation.worker];
  const int end = static_cast<int>(list.size());
  const int from = std::max(0, violation.position - kAround);
  const int to = std::min(end, violation.position + kAround + 1);
  std::string text = from > 0 ? "    ... " : "    ";
  for (int position = from; position < to; ++position) {
    const std::string cell = to_cell(list[position]);
    text += position == violation.position ? ">>" + cell + "<< " : cell + " ";
  }
  return text + (to < end ? "...\n" : "\n");
}

}  // namespace

std::string check_text(const Schedule& schedule,
                       const std::vector<Violation>& violations) {
  std::string text;
  for (const Violation& violation : violations) {
    text += to_string(to_diagnostic(violation)) + "\n";
    if (violation.position != kNone) text += marked(schedule, violation);
  }
  return text;
}

std::string check_json(const Diagnostics& errors,
                       const std::vector<Violation>& violations) {
  std::vector<std::string> rows;
  for (const Diagnostic& error : errors) {
    rows.push_back(fmt::format(R"({{"code":{},"where":{},"reason":{}}})",
                               json_string(error.code),
                               json_string(error.where),
                               json_string(error.found + " " + error.needed)));
  }
  for (const Violation& violation : violations) {
    std::string row =
        fmt::format(R"({{"code":{},"reason":{})", json_string(violation.code),
                    json_string(violation.reason));
    if (violation.worker != kNone) {
      row += fmt::format(R"(,"worker":{})", violation.worker);
    }
    if (violation.position != kNone) {
      row += fmt::format(R"(,"position":{},"action":{})", violation.position,
                         json_string(to_cell(violation.action)));
    }
    rows.push_back(row + "}");
  }
  return fmt::format("{{\"ok\":{},\"violations\":[{}{}{}]}}\n", rows.empty(),
                     rows.empty() ? "" : "\n ", join(rows, ",\n "),
                     rows.empty() ? "" : "\n");
}

std::string check_summary(const Schedule& schedule) {
  return fmt::format(
      "ok: {}, {} workers, {} pipe{}, {} stages, {} micro-batches, {} actions "
      "({})\n",
      schedule.scheme, schedule.workers(), schedule.pipes(),
      schedule.pipes() == 1 ? "" : "s", schedule.stages(), schedule.micros,
      num_actions(schedule), is_lowered(schedule) ? "lowered" : "compute-only");
}

}  // namespace chimera
