#include "chimera/cli/flags.h"

#include <filesystem>
#include <utility>

#include "chimera/base/text.h"
#include "chimera/console/console.h"
#include "chimera/schedule/forms.h"
#include "chimera/schedule/validate.h"
#include "chimera/search/search_order.h"

namespace chimera {
namespace {

const char* kLayout = "Layout";
const char* kLowering = "Lowering";
const char* kTimes =
    "Times (in any unit, of one D-th of the model; a chunk takes 1/chunks)";

}  // namespace

void ScheduleFlags::add_to(Command& command) {
  command.add_value("scheme", scheme,
                    "a scheme (`chimera schemes` lists them), or a schedule's "
                    "file; - reads standard input",
                    "SCHEME|FILE");
  command.add_value("--depth", depth, "workers in the pipeline (D)", "D",
                    kLayout);
  command.add_value("--micros", micros, "micro-batches a step (N)", "N",
                    kLayout);
  command.add_value(
      "--pipes", pipes,
      "pipes over the same workers (chimera: 2, 4, ...; default 2)", "P",
      kLayout);
  command.add_value(
      "--scale", scale,
      "how chimera goes beyond N = D: direct (default), doubling, halving",
      "MODE", kLayout);
  command.add_value("--chunks", chunks, "stages of one pipe per worker", "V",
                    kLayout);
  command.add_value(
      "--shape", shape,
      "how a pipe's stages lie on the workers: linear, loop, vee, wave",
      "SHAPE", kLayout);
  command.add_value("--width", width, "data-parallel copies (default 1)", "W",
                    kLayout);
  command.add_value(
      "--cap", cap,
      "the most activations a worker may hold, in D-ths (planned: default D; "
      "others are refused above it)",
      "A", kLayout);
  command.add_value("--effort", effort,
                    "planned: how many times as many orders to try (default 1)",
                    "E", kLayout);
  command.add_value("--sync", sync,
                    "when gradient sums start: eager-opt (default), eager, "
                    "end; as other systems do: ddp (a stage's last backward "
                    "sends after its sum), blocking (one after the other)",
                    "MODE", kLowering);
  command.add_choice("--recompute", recompute, {"early", "late"},
                     "recompute each forward before its backward, while the "
                     "gradient is on its way or (late) once it is there",
                     kLowering);
  command.add_switch("--tied", tied, "first and last stage share a weight",
                     kLowering);
}

bool ScheduleFlags::any_given() const {
  for (const std::string* text : {&scheme, &depth, &micros, &pipes, &scale,
                                  &chunks, &shape, &width, &effort}) {
    if (!text->empty()) return true;
  }
  return false;
}

ScheduleFlags ScheduleFlags::with_file() const {
  ScheduleFlags moved = *this;
  const std::string end = std::filesystem::path(scheme).extension().string();
  const bool is_file = scheme == "-" || end == ".sched" || end == ".json" ||
                       end == ".csv" || end == ".toml" ||
                       scheme.find('/') != std::string::npos;
  if (is_file && file.empty()) std::swap(moved.file, moved.scheme);
  return moved;
}

void TimeFlags::add_to(Command& command) {
  const auto option = [&](const char* flag, std::string& value,
                          const char* help) {
    command.add_value(flag, value, help, "T", kTimes);
  };
  option("--forward", forward, "a forward (default 1)");
  option("--backward", backward, "a whole backward (default 2)");
  option("--weight-grad", weight_grad,
         "its weight half (default half of --backward)");
  option("--p2p", p2p, "latency of every message between workers (default 0)");
  option("--allreduce", allreduce,
         "one stage's gradient sum (default 0; free with a single holder)");
}

bool TimeFlags::any_given() const {
  for (const std::string* text :
       {&forward, &backward, &weight_grad, &p2p, &allreduce}) {
    if (!text->empty()) return true;
  }
  return false;
}

UniformTimes TimeFlags::read(Values& values) const {
  UniformTimes times;
  times.forward = values.time("--forward", forward).value_or(1);
  times.backward = values.time("--backward", backward).value_or(2);
  times.weight_grad = values.time("--weight-grad", weight_grad);
  times.latency = values.time("--p2p", p2p).value_or(0);
  times.sum_time = values.time("--allreduce", allreduce).value_or(0);
  if (times.weight_grad && *times.weight_grad > times.backward) {
    values.refuse(
        {.code = "E406",
         .found = "--weight-grad " + number(*times.weight_grad),
         .needed = "must not be above --backward " + number(times.backward)});
    times.weight_grad.reset();
  }
  return times;
}

namespace {

ScheduleRequest read_lowering(const ScheduleFlags& flags, Values& values) {
  ScheduleRequest request;
  request.cap = values.time("--cap", flags.cap);
  request.lowering.sync =
      values.named<Sync>("--sync", flags.sync).value_or(Sync::kEagerOpt);
  request.lowering.recompute = !flags.recompute.empty();
  request.lowering.recompute_late = flags.recompute == "late";
  if (!flags.recompute.empty() && flags.recompute != "early" &&
      flags.recompute != "late") {
    values.refuse({.code = "E403",
                   .found = "--recompute " + shown(flags.recompute),
                   .needed = "must be early or late"});
  }
  request.lowering.tied = flags.tied;
  return request;
}

// Returns the mistakes in `spec`, except those caused by the stand-in for a
// missing depth or number of micro-batches.
Diagnostics refuse_rest(const ScheduleSpec& spec) {
  Diagnostics errors;
  const Result<Layout> layout = resolve(spec);
  if (layout) return errors;
  for (const Diagnostic& error : layout.errors()) {
    const bool is_about_counts = error.code == "E202" || error.code == "E203" ||
                                 error.code == "E204" || error.code == "E209";
    if (!is_about_counts) errors.push_back(error);
  }
  return errors;
}

}  // namespace

ScheduleRequest read_file_request(const ScheduleFlags& flags, Values& values) {
  if (flags.any_given()) {
    values.refuse({.code = "E406",
                   .found = "a scheme with its flags and a file",
                   .needed = "cannot both give the schedule",
                   .hint = "leave one of them out"});
  }
  return read_lowering(flags, values);
}

Result<Schedule> read_schedule_file(const ScheduleFlags& flags) {
  const Result<std::string> text = read_input(flags.file);
  if (!text) return text.errors();
  Result<Schedule> schedule = parse_schedule(*text, input_name(flags.file));
  if (!schedule) return schedule;
  const std::vector<Violation> violations = validate(*schedule);
  if (!violations.empty()) return to_diagnostics(violations);
  if (is_lowered(*schedule) && flags.has_lowering()) {
    return Diagnostic{.code = "E406",
                      .found = "--sync, --recompute and --tied",
                      .needed = "say how to lower, but the file is lowered",
                      .hint = "leave them out"};
  }
  return schedule;
}

ScheduleRequest read_request(const ScheduleFlags& flags, Values& values) {
  ScheduleRequest request = read_lowering(flags, values);
  ScheduleSpec& spec = request.spec;
  spec.scheme = flags.scheme;
  spec.depth = values.required_integer("--depth", flags.depth);
  spec.micros = values.required_integer("--micros", flags.micros);
  spec.pipes = values.integer("--pipes", flags.pipes);
  spec.chunks = values.integer("--chunks", flags.chunks);
  spec.width = values.integer("--width", flags.width).value_or(1);
  spec.cap = request.cap;
  spec.scale =
      values.named<Scale>("--scale", flags.scale).value_or(Scale::kDirect);
  spec.shape = values.named<Shape>("--shape", flags.shape);
  request.effort = values.time("--effort", flags.effort).value_or(1);
  constexpr double kMostEffort = 1000;
  if (request.effort > kMostEffort) {
    values.refuse({.code = "E403",
                   .found = "--effort " + shown(flags.effort),
                   .needed = "must be between 0 and 1000"});
  }
  if (flags.scheme.empty()) {
    values.refuse({.code = "E402",
                   .found = "the scheme",
                   .needed = "is missing",
                   .hint = "one of " + join(scheme_names(), ", ")});
  } else if (!parse_int(flags.depth) || !parse_int(flags.micros)) {
    values.refuse(refuse_rest(spec));
  } else if (const Result<Layout> layout = resolve(spec); !layout) {
    values.refuse(layout.errors());
  } else if (values.errors().empty()) {
    values.refuse(check_lowering(*make_schedule(spec), request.lowering));
  }
  return request;
}

MadeSchedule make_requested(const ScheduleRequest& request,
                            const CostsOf& costs_of, int steps) {
  MadeSchedule made;
  const Schedule start = make_schedule(request.spec).value();
  made.costs = costs_of(start);
  made.cap = resolve(request.spec)->cap;
  made.schedule = make_order({.spec = request.spec,
                              .lowering = request.lowering,
                              .steady = steps > 1,
                              .effort = request.effort},
                             start, made.costs);
  return made;
}

Result<Schedule> lower_requested(const Schedule& schedule,
                                 const ScheduleRequest& request,
                                 const Costs& costs) {
  if (request.lowering.tied && is_asynchronous(schedule)) {
    return Diagnostic{.code = "E211",
                      .found = "--tied",
                      .needed = "is not possible with " + schedule.scheme +
                                ": its first and last stage update at "
                                "different times"};
  }
  LowerOptions lowering = request.lowering;
  lowering.costs = &costs;
  return lower_checked(schedule, lowering, request.cap);
}

}  // namespace chimera
