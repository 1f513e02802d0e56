// chimera simulate: what a schedule would take, before anything runs.
#include <memory>
#include <sstream>

#include "chimera/base/files.h"
#include "chimera/base/text.h"
#include "chimera/cli/commands.h"
#include "chimera/cli/console.h"
#include "chimera/cli/drawing.h"
#include "chimera/cli/exit_codes.h"
#include "chimera/cli/flags.h"
#include "chimera/cli/simulation_text.h"
#include "chimera/schedule/forms.h"
#include "chimera/schedule/validate.h"
#include "chimera/simulate/simulate.h"
#include "chimera/trace/chrome.h"

namespace chimera {
namespace {

const std::vector<std::string> kFormats = {"text", "json", "trace", "svg"};

struct SimulateCommand {
  ScheduleFlags flags;
  TimeFlags times;
  std::string file;
  std::string steps;
  std::string cores;
  std::string format;
  std::string output;

  int run(const CLI::App& command) const;
  [[nodiscard]] Result<Schedule> from_file() const;
  [[nodiscard]] ScheduleRequest file_request(Values& values) const;
  [[nodiscard]] std::string render(const Schedule& schedule,
                                   const Simulation& simulation,
                                   std::optional<double> cap,
                                   const std::string& as) const;
  [[nodiscard]] SimulateOptions read_options(Values& values) const;
};

// A file says everything but how to lower it, if it is not lowered yet.
ScheduleRequest SimulateCommand::file_request(Values& values) const {
  if (flags.any_given()) {
    values.refuse({.code = "E406",
                   .found = "a scheme with its flags and --schedule",
                   .needed = "cannot both say what to simulate",
                   .hint = "leave one of them out"});
  }
  return read_lowering(flags, values);
}

Result<Schedule> SimulateCommand::from_file() const {
  const Result<std::string> text = read_file(file);
  if (!text) return text.errors();
  Result<Schedule> schedule = parse_schedule(*text, file);
  if (!schedule) return schedule;
  const std::vector<Violation> violations = validate(*schedule);
  if (!violations.empty()) return to_diagnostics(violations);
  if (is_lowered(*schedule) &&
      (flags.recompute || flags.tied || !flags.sync.empty())) {
    return Diagnostic{.code = "E406",
                      .found = "--sync, --recompute and --tied",
                      .needed = "say how to lower, but the file is lowered",
                      .hint = "leave them out"};
  }
  return schedule;
}

SimulateOptions SimulateCommand::read_options(Values& values) const {
  SimulateOptions options;
  options.steps = values.integer("--steps", steps).value_or(1);
  const std::optional<int> shared = values.integer("--cores", cores);
  options.cores = shared.value_or(0);
  constexpr int kMostSteps = 100000;
  if (options.steps < 1 || options.steps > kMostSteps) {
    values.refuse({.code = "E403",
                   .found = "--steps " + std::to_string(options.steps),
                   .needed = "must be between 1 and 100000"});
  }
  if (shared && *shared < 1) {
    values.refuse({.code = "E403",
                   .found = "--cores " + shown(cores),
                   .needed = "must be at least 1"});
  }
  return options;
}

int SimulateCommand::run(const CLI::App& command) const {
  Values values;
  refuse_unknown(command, values);
  const bool has_file = !file.empty();
  const ScheduleRequest request =
      has_file ? file_request(values) : read_request(flags, values);
  const UniformTimes uniform = times.read(values);
  SimulateOptions options = read_options(values);
  const std::string as = kFormats[values.choice("--format", format, kFormats)];
  if (!values.errors().empty()) return print_errors(values.errors());

  MadeSchedule made;
  if (has_file) {
    const Result<Schedule> read = from_file();
    if (!read) return print_errors(read.errors());
    made = {*read, uniform_costs(*read, uniform), request.cap};
  } else {
    made = make_requested(request, uniform, options.steps);
  }
  // More events than this would take gigabytes.
  constexpr double kMostEvents = 5e7;
  const double events =
      static_cast<double>(num_actions(made.schedule)) * 3 * options.steps;
  if (events > kMostEvents) {
    return print_errors({{.code = "E209",
                          .found = "about " + number(events) + " events",
                          .needed = "are too many to simulate at once",
                          .hint = "use fewer --steps"}});
  }
  const Result<Schedule> schedule =
      lower_checked(made.schedule, request, made.costs);
  if (!schedule) return print_errors(schedule.errors());
  options.cap = made.cap;
  const Simulation simulation = simulate(*schedule, made.costs, options);
  write_result(render(*schedule, simulation, made.cap, as), output);
  return kExitDone;
}

std::string SimulateCommand::render(const Schedule& schedule,
                                    const Simulation& simulation,
                                    std::optional<double> cap,
                                    const std::string& as) const {
  if (as == "text") return simulation_text(schedule, simulation, cap);
  if (as == "json") return simulation_json(simulation);
  if (as == "svg") return draw(schedule, simulation, {.svg = true});
  // One unit of time is shown as a millisecond.
  std::ostringstream out;
  write_chrome_trace(simulation.trace, 1000, out);
  return std::move(out).str();
}

}  // namespace

void add_simulate_command(CLI::App& app, int& exit_code) {
  const auto self = std::make_shared<SimulateCommand>();
  CLI::App* command = app.add_subcommand(
      "simulate", "Play a schedule through: time, idle, memory, trace");
  command->allow_extras();
  self->flags.add_to(*command);
  self->times.add_to(*command);
  const auto option = [&](const char* flag, std::string& value,
                          const char* help, const char* type) {
    command->add_option(flag, value, help)->type_name(type);
  };
  option("--schedule", self->file, "simulate a file instead of a scheme",
         "FILE");
  option("--steps", self->steps, "steps without a barrier between (default 1)",
         "K");
  option("--cores", self->cores,
         "processors that all workers share (default: one each)", "C");
  option("--format", self->format,
         "text (default), json, trace (Chrome/Perfetto), svg", "FORMAT");
  option("-o,--output", self->output, "write to a file", "FILE");
  command->footer(
      "Examples:\n"
      "  chimera simulate chimera --depth 8 --micros 8\n"
      "  chimera simulate 1f1b --depth 8 --micros 32 --p2p 0.25 --format "
      "json\n"
      "  chimera simulate --schedule a.sched --steps 4 --format trace -o "
      "trace.json\n"
      "  chimera simulate chimera --depth 4 --micros 4 --cores 2\n"
      "  chimera simulate planned --depth 8 --micros 14 --steps 4\n");
  command->callback(
      [self, command, &exit_code] { exit_code = self->run(*command); });
}

}  // namespace chimera
