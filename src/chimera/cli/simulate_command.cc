// chimera simulate: predicts the time of a schedule before anything runs.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <sstream>

#include "chimera/base/exit_codes.h"
#include "chimera/base/files.h"
#include "chimera/base/text.h"
#include "chimera/cli/commands.h"
#include "chimera/cli/drawing.h"
#include "chimera/cli/flags.h"
#include "chimera/cli/machine.h"
#include "chimera/cli/simulation_text.h"
#include "chimera/console/console.h"
#include "chimera/plan/paper_model.h"
#include "chimera/schedule/forms.h"
#include "chimera/schedule/held.h"
#include "chimera/schedule/validate.h"
#include "chimera/simulate/simulate.h"
#include "chimera/trace/chrome.h"

namespace chimera {
namespace {

const std::vector<std::string> kFormats = {"text", "json", "trace", "svg"};

struct SimulateCommand {
  ScheduleFlags flags;
  TimeFlags times;
  MachineFlags machine;
  std::string steps;
  std::string cores;
  std::string jitter;
  std::string seed;
  std::string format;
  std::string output;

  int run(Values& values);
  // Makes the schedule from a file or a run.toml if given, else from the
  // scheme.
  [[nodiscard]] Result<MadeSchedule> make(const ScheduleRequest& request,
                                          const CostsOf& costs_of,
                                          const Machine* on,
                                          int num_steps) const;
  [[nodiscard]] bool takes_models_schedule() const {
    return flags.file.empty() && !flags.any_given() && !machine.model.empty();
  }
  [[nodiscard]] SimulateOptions read_options(Values& values) const;
  // Reads --jitter and --seed, which override the profile.
  void read_noise(Values& values, SimulateOptions& options) const;
};

// The paper's formula for a real model, if it covers the layout.
std::optional<double> paper_step(const ScheduleRequest& request,
                                 const Costs& costs) {
  if (!path_counts(request.spec)) return std::nullopt;
  return paper_time(request.spec, costs,
                    {.recompute = bool{request.lowering.recompute},
                     .sync = request.lowering.sync})
      .total();
}

// The workers that hold more bytes of activations than the cap.
Diagnostics above_cap(const Schedule& schedule, const Costs& costs,
                      double cap) {
  Diagnostics errors;
  const std::vector<double> held = peak_held_bytes(schedule, costs);
  for (size_t worker = 0; worker < held.size(); ++worker) {
    if (held[worker] <= cap) continue;
    errors.push_back(
        {.code = "E320",
         .where = fmt::format("worker {}", worker),
         .found = fmt::format("holds {:.1f} MB of activations, the cap is "
                              "{:.1f} MB",
                              held[worker] / 1e6, cap / 1e6)});
  }
  return errors;
}

// `limit`: memory of a worker by the profile; 0 = unknown.
void warn_of_memory(const std::vector<double>& bytes, double limit) {
  const auto most = std::max_element(bytes.begin(), bytes.end());
  if (most == bytes.end() || limit == 0 || *most <= limit) return;
  std::cerr << fmt::format(
      "warning: worker {} needs {:.2f} GB, but the profile's machine has "
      "{:.2f} "
      "GB for a worker: this would not run\n",
      most - bytes.begin(), *most / 1e9, limit / 1e9);
}

std::string render(const SimulationView& view, const std::string& as) {
  if (as == "text") return simulation_text(view);
  if (as == "json") return simulation_json(view);
  if (as == "svg") return draw(view.schedule, view.simulation, {.svg = true});
  // Times without a unit are shown as milliseconds.
  std::ostringstream out;
  write_chrome_trace(view.simulation.trace, view.in_seconds ? 1e6 : 1000, out);
  return std::move(out).str();
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

void SimulateCommand::read_noise(Values& values,
                                 SimulateOptions& options) const {
  options.jitter = values.time("--jitter", jitter).value_or(options.jitter);
  if (options.jitter > 1) {
    values.refuse({.code = "E403",
                   .found = "--jitter " + shown(jitter),
                   .needed = "must be between 0 and 1",
                   .hint = "0.05 for 5 %"});
  }
  constexpr int kMostSeed = 1000000;
  constexpr int kPlays = 1000;  // number of plays reserved for each seed
  const int number = values.integer("--seed", seed).value_or(0);
  if (number < 0 || number > kMostSeed) {
    values.refuse({.code = "E403",
                   .found = "--seed " + shown(seed),
                   .needed = "must be between 0 and 1000000"});
    return;
  }
  options.play = number * kPlays;
}

Result<MadeSchedule> SimulateCommand::make(const ScheduleRequest& request,
                                           const CostsOf& costs_of,
                                           const Machine* on,
                                           int num_steps) const {
  const bool from_model = takes_models_schedule();
  if (from_model && (flags.has_lowering() || !flags.cap.empty())) {
    return Diagnostic{.code = "E406",
                      .found = "--sync, --recompute, --tied and --cap",
                      .needed = "say how to lower, but the run.toml does too",
                      .hint = "leave them out, or give a scheme"};
  }
  if (!from_model && flags.file.empty()) {
    ScheduleRequest asked = request;
    if (on != nullptr) {
      const Schedule start = make_schedule(request.spec).value();
      Diagnostics errors = on->refuse(start);
      if (!errors.empty()) return errors;
      asked.lowering.tied |= on->ties(start);
      if (request.cap_bytes) {
        errors = check_cap_bytes(start, costs_of(start), *request.cap_bytes);
        if (!errors.empty()) return errors;
      }
    }
    return make_requested(asked, costs_of, num_steps);
  }
  const Result<Schedule> read =
      from_model ? on->own_schedule() : read_schedule_file(flags);
  if (!read) return read.errors();
  if (on != nullptr) {
    Diagnostics errors = on->refuse(*read);
    if (errors.empty() && request.cap_bytes) {
      errors = check_bytes_known(*read, costs_of(*read), *request.cap_bytes);
    }
    if (!errors.empty()) return errors;
  }
  return MadeSchedule{*read, costs_of(*read), request.cap};
}

int SimulateCommand::run(Values& values) {
  flags = flags.with_file();
  flags.knows_bytes = machine.any_given();
  ScheduleRequest request;
  if (takes_models_schedule()) {
    request.omega = read_omega(flags.omega, values);
  } else {
    request = flags.file.empty() ? read_request(flags, values)
                                 : read_file_request(flags, values);
  }
  const UniformTimes uniform = times.read(values);
  SimulateOptions options = read_options(values);
  read_noise(values, options);
  const std::string& as = kFormats[values.format(format, output, kFormats)];
  std::optional<Machine> on;
  if (machine.any_given()) {
    on.emplace(machine, values);
    if (times.any_given()) {
      values.refuse({.code = "E406",
                     .found = "times and --model or --profile",
                     .needed = "cannot both say what everything takes",
                     .hint = "leave one of them out"});
    }
  }
  if (!values.errors().empty()) return print_errors(values.errors());

  if (on) {
    on->describe_host(options);
    if (request.omega) on->count_omega(*request.omega);
    read_noise(values, options);
  }
  request.jitter = options.jitter;
  const CostsOf costs_of = [&](const Schedule& schedule) {
    Costs costs = on ? on->costs(schedule) : uniform_costs(schedule, uniform);
    if (request.omega) {
      set_omegas(costs, std::vector(costs.stages.size(), *request.omega));
    }
    return costs;
  };
  const Result<MadeSchedule> result =
      make(request, costs_of, on ? &*on : nullptr, options.steps);
  if (!result) return print_errors(result.errors());
  const MadeSchedule& made = *result;
  if (on) request.lowering.tied |= on->ties(made.schedule);
  const bool expects_period = options.jitter > 0 && options.steps > 1;
  SimulateOptions noisy = options;
  if (expects_period) {
    // As many as make the mean period meaningful.
    constexpr int kEnough = 12;
    noisy.steps =
        std::max(options.steps, kEnough + closing_rounds(made.schedule));
  }
  // More events than this would take gigabytes.
  constexpr double kMostEvents = 5e7;
  const double events =
      static_cast<double>(num_actions(made.schedule)) * 3 * noisy.steps;
  if (events > kMostEvents) {
    return print_errors({{.code = "E209",
                          .found = "about " + number(events) + " events",
                          .needed = "are too many to simulate at once",
                          .hint = "use fewer --steps"}});
  }
  // Lowers with unit costs, as a run does, because a run has no profile.
  Costs lowering = made.costs;
  if (on) {
    lowering = uniform_costs(made.schedule, {});
    set_omegas(lowering, omegas(made.costs));
  }
  const Result<Schedule> schedule =
      lower_requested(made.schedule, request, lowering);
  if (!schedule) return print_errors(schedule.errors());
  if (request.cap_bytes) {
    const Diagnostics errors =
        above_cap(*schedule, made.costs, *request.cap_bytes);
    if (!errors.empty()) return print_errors(errors);
  }
  options.cap = made.cap;
  SimulateOptions usual = options;
  usual.jitter = 0;
  const Simulation simulation = simulate(*schedule, made.costs, usual);
  const std::vector<double> bytes =
      on ? on->peak_bytes(*schedule) : std::vector<double>();
  if (on) warn_of_memory(bytes, on->memory_bytes());
  const bool expects = options.jitter > 0 && (as == "text" || as == "json");
  write_result(
      render({.schedule = *schedule,
              .simulation = simulation,
              .cap = made.cap,
              .peak_bytes = bytes,
              .in_seconds = on.has_value(),
              .paper = on && flags.any_given() ? paper_step(request, made.costs)
                                               : std::nullopt,
              .expected = expects ? std::optional(expected_makespan(
                                        *schedule, made.costs, options))
                                  : std::nullopt,
              .expected_period = expects && expects_period
                                     ? std::optional(expected_period(
                                           *schedule, made.costs, noisy))
                                     : std::nullopt,
              .jitter = options.jitter},
             as),
      output);
  return kExitDone;
}

}  // namespace

void add_simulate_command(Command& program) {
  const auto self = std::make_shared<SimulateCommand>();
  Command& command = program.add_command(
      "simulate", "Play a schedule through: time, idle, memory, trace");
  self->flags.add_to(command);
  self->times.add_to(command);
  self->machine.add_to(command);
  command.add_value("--schedule", self->flags.file,
                    "simulate a file instead of a scheme", "FILE");
  command.add_value("--steps", self->steps,
                    "steps without a barrier between (default 1)", "K");
  command.add_value("--cores", self->cores,
                    "processors that all workers share (default: one each)",
                    "C");
  command.add_value("--jitter", self->jitter,
                    "predict the mean time if every action varies by this "
                    "share of its time, such as 0.05, and plan for that "
                    "(default: the profile's, else 0)",
                    "J");
  command.add_value("--seed", self->seed, "random numbers of --jitter", "S");
  command.add_value("--format", self->format,
                    "text, json, trace (Chrome/Perfetto), svg (default: as the "
                    "name of the output file ends, else text)",
                    "FORMAT");
  command.add_value("-o,--output", self->output, "write to a file", "FILE");
  command.set_footer(
      "Examples:\n"
      "  chimera simulate chimera --depth 8 --micros 8\n"
      "  chimera simulate 1f1b --depth 8 --micros 32 --p2p 0.25 --format "
      "json\n"
      "  chimera simulate --schedule a.sched --steps 4 --format trace -o "
      "trace.json\n"
      "  chimera simulate chimera --depth 4 --micros 4 --cores 2\n"
      "  chimera simulate planned --depth 8 --micros 14 --steps 4\n"
      "  chimera simulate --model run.toml --profile profile.toml --steps 4\n"
      "  chimera simulate chimera --depth 32 --micros 32 --width 64 --model "
      "gpt2-64\n");
  command.set_work([self](Values& values) { return self->run(values); });
}

}  // namespace chimera
