// Turns flags, as typed, into what they ask for. The playground compiles this
// file too, so it uses no Command.
#include <filesystem>
#include <utility>

#include "chimera/base/text.h"
#include "chimera/cli/flags.h"
#include "chimera/console/console.h"
#include "chimera/schedule/forms.h"
#include "chimera/schedule/validate.h"
#include "chimera/search/search_order.h"

namespace chimera {

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

std::optional<double> read_omega(const std::string& text, Values& values) {
  const std::optional<double> omega = values.time("--omega", text);
  if (!omega || *omega <= 1) return omega;
  values.refuse({.code = "E403",
                 .found = "--omega " + shown(text),
                 .needed = "must be between 0 and 1",
                 .hint = "1 counts all of an activation until W ends"});
  return std::nullopt;
}

namespace {

// Reads --cap: a number of activations, or a size with its unit.
void read_cap(const ScheduleFlags& flags, Values& values,
              ScheduleRequest& request) {
  if (!flags.cap.ends_with('B')) {
    request.cap = values.time("--cap", flags.cap);
  } else if (flags.knows_bytes) {
    request.cap_bytes = values.bytes("--cap", flags.cap);
  } else {
    values.refuse({.code = "E406",
                   .found = "--cap " + shown(flags.cap),
                   .needed = "needs to know the bytes of an activation",
                   .hint = "use `chimera simulate` with --model and --profile, "
                           "or give the cap in activations"});
  }
}

ScheduleRequest read_lowering(const ScheduleFlags& flags, Values& values) {
  ScheduleRequest request;
  read_cap(flags, values, request);
  request.omega = read_omega(flags.omega, values);
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
  if (!request.cap_bytes) made.cap = resolve(request.spec)->cap;
  made.schedule = make_order({.spec = request.spec,
                              .lowering = request.lowering,
                              .steady = steps > 1,
                              .effort = request.effort,
                              .jitter = request.jitter,
                              .cap_bytes = request.cap_bytes,
                              .on_progress = request.on_progress},
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
  return lower_checked(schedule, lowering,
                       {.cap = request.cap, .omega = omegas(costs)});
}

}  // namespace chimera
