// chimera check: prove a schedule file, or list everything wrong with it.
#include <iostream>
#include <memory>

#include "chimera/base/exit_codes.h"
#include "chimera/cli/check_text.h"
#include "chimera/cli/commands.h"
#include "chimera/cli/flags.h"
#include "chimera/console/console.h"
#include "chimera/schedule/forms.h"
#include "chimera/schedule/validate.h"

namespace chimera {
namespace {

struct CheckCommand {
  std::string file;
  std::string format;
  std::string cap;
  std::string omega;

  int run(Values& values) const;
};

int CheckCommand::run(Values& values) const {
  if (file.empty()) {
    values.refuse({.code = "E402",
                   .found = "the file",
                   .needed = "is missing",
                   .hint = "chimera check a.sched"});
  }
  const bool json = values.choice("--format", format, {"text", "json"}) == 1;
  const std::optional<double> most = values.time("--cap", cap);
  const std::optional<double> share = read_omega(omega, values);
  if (!values.errors().empty()) return print_errors(values.errors());

  const Result<std::string> text = read_input(file);
  const Result<Schedule> schedule =
      text ? parse_schedule(*text, input_name(file))
           : Result<Schedule>(text.errors());
  if (!schedule) {
    if (json) write_result(check_json(schedule.errors(), {}), "");
    return print_errors(schedule.errors());
  }
  ValidateOptions proof{.cap = most};
  if (share) proof.omega.assign(schedule->stages(), *share);
  const std::vector<Violation> violations = validate(*schedule, proof);
  if (json) {
    write_result(check_json({}, violations), "");
  } else {
    write_result(violations.empty() ? check_summary(*schedule)
                                    : check_text(*schedule, violations),
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
  command.add_value("--omega", self->omega,
                    "with --cap: the share of an activation that counts "
                    "between the end of I and the end of W (default 1)",
                    "W");
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
