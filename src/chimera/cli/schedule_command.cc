// chimera schedule: makes a schedule and prints it as a drawing or in any of
// its text forms.
#include <memory>

#include "chimera/base/check.h"
#include "chimera/base/exit_codes.h"
#include "chimera/cli/commands.h"
#include "chimera/cli/drawing.h"
#include "chimera/cli/flags.h"
#include "chimera/console/console.h"
#include "chimera/schedule/forms.h"
#include "chimera/schedule/validate.h"
#include "chimera/simulate/simulate.h"

namespace chimera {
namespace {

const std::vector<std::string> kFormats = {"text", "sched",     "json",
                                           "csv",  "torch-csv", "svg"};

struct ScheduleCommand {
  ScheduleFlags flags;
  TimeFlags times;
  std::string format;
  std::string output;
  bool lowered = false;

  int run(Values& values);
  [[nodiscard]] Result<MadeSchedule> make(const ScheduleRequest& request,
                                          const UniformTimes& uniform) const;
  [[nodiscard]] Result<std::string> render(const ScheduleRequest& request,
                                           const UniformTimes& uniform,
                                           const std::string& as) const;
};

Result<MadeSchedule> ScheduleCommand::make(const ScheduleRequest& request,
                                           const UniformTimes& uniform) const {
  const auto costs_of = [&](const Schedule& schedule) {
    return uniform_costs(schedule, uniform);
  };
  if (!flags.file.empty()) {
    const Result<Schedule> read = read_schedule_file(flags);
    if (!read) return read.errors();
    return MadeSchedule{*read, costs_of(*read), request.cap};
  }
  MadeSchedule made = make_requested(request, costs_of);
  CHIMERA_CHECK(validate(made.schedule).empty(),
                "a generated schedule must validate");
  return made;
}

Result<std::string> ScheduleCommand::render(const ScheduleRequest& request,
                                            const UniformTimes& uniform,
                                            const std::string& as) const {
  const Result<MadeSchedule> source = make(request, uniform);
  if (!source) return source.errors();
  const auto& [made, costs, cap] = *source;
  const Result<Schedule> ready = lower_requested(made, request, costs);
  if (!ready) return ready.errors();
  const bool draws = as == "text" || as == "svg";
  const Schedule& schedule = lowered || draws ? *ready : made;
  if (as == "sched") return to_sched(schedule);
  if (as == "json") return to_json(schedule);
  if (as == "csv") return to_csv(schedule);
  if (as == "torch-csv") return to_torch_csv(schedule);
  const Simulation simulation = simulate(schedule, costs, {.cap = cap});
  std::string drawing = draw(schedule, simulation,
                             {.svg = as == "svg", .to_file = !output.empty()});
  // The drawing shows compute only; the lowered lists are printed below it.
  if (lowered && as == "text") drawing += "\n" + to_sched(schedule);
  return drawing;
}

int ScheduleCommand::run(Values& values) {
  flags = flags.with_file();
  const ScheduleRequest request = flags.file.empty()
                                      ? read_request(flags, values)
                                      : read_file_request(flags, values);
  UniformTimes uniform = times.read(values);
  uniform.omega = request.omega.value_or(1);
  const std::string& as = kFormats[values.format(format, output, kFormats)];
  if (!values.errors().empty()) return print_errors(values.errors());
  const Result<std::string> text = render(request, uniform, as);
  if (!text) return print_errors(text.errors());
  write_result(*text, output);
  return kExitDone;
}

}  // namespace

void add_schedule_command(Command& program) {
  const auto self = std::make_shared<ScheduleCommand>();
  Command& command = program.add_command(
      "schedule", "Make a schedule: draw it, or write it as data");
  self->flags.add_to(command);
  self->times.add_to(command);
  command.add_switch("--lowered", self->lowered,
                     "with messages, sums, vote and updates");
  command.add_value("--format", self->format,
                    "text (a drawing), sched, json, csv, torch-csv, svg "
                    "(default: as the name "
                    "of the output file ends, else text)",
                    "FORMAT");
  command.add_value("-o,--output", self->output, "write to a file", "FILE");
  command.set_footer(
      "Examples:\n"
      "  chimera schedule chimera --depth 4 --micros 4\n"
      "  chimera schedule chimera --depth 8 --micros 8 --pipes 4 -o a.svg\n"
      "  chimera schedule 1f1b --depth 4 --micros 8 --lowered -o a.sched\n"
      "  chimera schedule a.sched\n"
      "  chimera schedule zb-v --depth 4 --micros 8 --format torch-csv\n"
      "  chimera schedule planned --depth 8 --micros 8 --shape vee --p2p "
      "0.1\n");
  command.set_work([self](Values& values) { return self->run(values); });
}

}  // namespace chimera
