// chimera check: prove a schedule file, or list everything wrong with it.
#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "chimera/base/exit_codes.h"
#include "chimera/base/text.h"
#include "chimera/cli/commands.h"
#include "chimera/console/console.h"
#include "chimera/schedule/cell.h"
#include "chimera/schedule/forms.h"
#include "chimera/schedule/validate.h"

namespace chimera {
namespace {

struct CheckCommand {
  std::string file;
  std::string format;
  std::string cap;

  int run(Values& values) const;
};

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

std::string as_text(const Schedule& schedule,
                    const std::vector<Violation>& violations) {
  std::string text;
  for (const Violation& violation : violations) {
    text += to_string(to_diagnostic(violation)) + "\n";
    if (violation.position != kNone) text += marked(schedule, violation);
  }
  return text;
}

std::string as_json(const Diagnostics& errors,
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

std::string summary(const Schedule& schedule) {
  return fmt::format(
      "ok: {}, {} workers, {} pipe{}, {} stages, {} micro-batches, {} actions "
      "({})\n",
      schedule.scheme, schedule.workers(), schedule.pipes(),
      schedule.pipes() == 1 ? "" : "s", schedule.stages(), schedule.micros,
      num_actions(schedule), is_lowered(schedule) ? "lowered" : "compute-only");
}

int CheckCommand::run(Values& values) const {
  if (file.empty()) {
    values.refuse({.code = "E402",
                   .found = "the file",
                   .needed = "is missing",
                   .hint = "chimera check a.sched"});
  }
  const bool json = values.choice("--format", format, {"text", "json"}) == 1;
  const std::optional<double> most = values.time("--cap", cap);
  if (!values.errors().empty()) return print_errors(values.errors());

  const Result<std::string> text = read_input(file);
  const Result<Schedule> schedule =
      text ? parse_schedule(*text, input_name(file))
           : Result<Schedule>(text.errors());
  if (!schedule) {
    if (json) write_result(as_json(schedule.errors(), {}), "");
    return print_errors(schedule.errors());
  }
  const std::vector<Violation> violations = validate(*schedule, {.cap = most});
  if (json) {
    write_result(as_json({}, violations), "");
  } else {
    write_result(violations.empty() ? summary(*schedule)
                                    : as_text(*schedule, violations),
                 "");
  }
  if (violations.empty()) return kExitDone;
  std::cerr << file << ": " << violations.size()
            << (violations.size() == 1 ? " violation\n" : " violations\n");
  return kExitUsage;
}

}  // namespace

void add_check_command(Command& program) {
  const auto self = std::make_shared<CheckCommand>();
  Command& command = program.add_command(
      "check", "Prove a schedule file, or list everything wrong with it");
  command.add_value("file", self->file,
                    "a schedule as json, sched or csv; - reads standard input",
                    "FILE");
  command.add_value("--format", self->format, "text (default), json", "FORMAT");
  command.add_value("--cap", self->cap,
                    "also refuse more held activations than this, in D-ths",
                    "A");
  command.set_footer(
      "Exit code 0 if the schedule computes everything once, in order, and "
      "finishes\neven if every send blocks until its receive is posted; else "
      "2.\n\n"
      "Examples:\n"
      "  chimera schedule 1f1b --depth 4 --micros 8 -o a.sched\n"
      "  chimera check a.sched\n"
      "  chimera check a.sched --format json --cap 4\n"
      "  chimera schedule zb-v --depth 4 --micros 8 --format sched | chimera "
      "check -\n");
  command.set_work([self](Values& values) { return self->run(values); });
}

}  // namespace chimera
