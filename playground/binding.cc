// The functions that the page's script calls: a question in JSON gives an
// answer in JSON. Flags mean what they mean on the command line, and go through
// the same code.
//
//   {"ask":"schemes"}
//   {"ask":"simulate","flags":{"scheme":"chimera","depth":"4",...}}
//   {"ask":"write","format":"svg","flags":{...}}    a file of `schedule`, or of
//                                                   `simulate` (svg, trace)
//   {"ask":"check","text":"chimera-schedule-1 ...","flags":{"cap":"4"}}
//   {"ask":"read","text":"{...}"}                  the same as a .sched file
//
// With "text", simulate and write take the schedule from it; the flags then
// only hold times, steps and lowering. An answer has "errors" if there are any.
#include <emscripten.h>

#include <map>
#include <sstream>
#include <string>

#include "chimera/base/json_reader.h"
#include "chimera/base/text.h"
#include "chimera/cli/check_text.h"
#include "chimera/cli/drawing.h"
#include "chimera/cli/flags.h"
#include "chimera/cli/simulation_text.h"
#include "chimera/page/json.h"
#include "chimera/page/timeline.h"
#include "chimera/schedule/forms.h"
#include "chimera/schedule/validate.h"
#include "chimera/simulate/simulate.h"
#include "chimera/trace/chrome.h"
#include "dependencies.h"
#include "held_curves.h"

// Calls tellProgress of worker.js.
EM_JS(void, tell_progress, (double share, double best),
      { tellProgress(share, best); })

namespace chimera::playground {
namespace {

// Limits of a simulation. More would take the page minutes, or more memory than
// it may have.
constexpr double kMostEvents = 2e6;
constexpr int kMostSteps = 1000;
constexpr size_t kMostDrawn = 60000;  // events that are drawn

struct Question {
  std::string ask, text, format, steps;
  bool lowered = false;
  ScheduleFlags flags;
  TimeFlags times;
};

// Maps each flag to the place of its text.
std::map<std::string, std::string*> flag_places(Question& question) {
  ScheduleFlags& flags = question.flags;
  TimeFlags& times = question.times;
  return {{"scheme", &flags.scheme},
          {"depth", &flags.depth},
          {"micros", &flags.micros},
          {"pipes", &flags.pipes},
          {"scale", &flags.scale},
          {"chunks", &flags.chunks},
          {"shape", &flags.shape},
          {"width", &flags.width},
          {"cap", &flags.cap},
          {"effort", &flags.effort},
          {"sync", &flags.sync},
          {"recompute", &flags.recompute},
          {"forward", &times.forward},
          {"backward", &times.backward},
          {"weight-grad", &times.weight_grad},
          {"p2p", &times.p2p},
          {"allreduce", &times.allreduce},
          {"steps", &question.steps}};
}

Question read_question(std::string_view text, Diagnostics& errors) {
  Question question;
  const std::map<std::string, std::string*> places = flag_places(question);
  JsonReader reader(text, "question", errors);
  reader.object("the question", [&](const std::string& key) {
    if (key == "flags") {
      reader.object("flags", [&](const std::string& flag) {
        const auto place = places.find(flag);
        if (place == places.end()) return reader.unknown_key(flag, {});
        *place->second = reader.string(flag).value_or("");
      });
    } else if (key == "lowered") {
      question.lowered = reader.boolean(key).value_or(false);
    } else if (key == "ask") {
      question.ask = reader.string(key).value_or("");
    } else if (key == "format") {
      question.format = reader.string(key).value_or("");
    } else if (key == "text") {
      question.text = reader.string(key).value_or("");
    } else {
      reader.unknown_key(key, {"ask", "flags", "format", "lowered", "text"});
    }
  });
  reader.finish();
  return question;
}

std::string to_json(const Diagnostics& errors) {
  std::vector<std::string> rows;
  for (const Diagnostic& error : errors) {
    rows.push_back(JsonObject()
                       .text("code", error.code)
                       .text("where", error.where)
                       .text("text", to_string(error))
                       .str());
  }
  return JsonObject().json("errors", json_list(rows)).str();
}

std::string answer_schemes() {
  std::vector<std::string> rows;
  for (const Scheme& scheme : schemes()) {
    rows.push_back(JsonObject()
                       .text("name", scheme.name)
                       .text("summary", scheme.summary)
                       .text("legal", scheme.legal)
                       .text("makespan", scheme.makespan)
                       .text("peak", scheme.peak)
                       .text("weights", scheme.weights)
                       .flag("pipes", scheme.any_pipes)
                       .flag("chunks", scheme.any_chunks)
                       .flag("scale", scheme.any_scale)
                       .flag("shape", scheme.any_shape)
                       .flag("isPlanned", scheme.any_cap)
                       .str());
  }
  return JsonObject().json("schemes", json_list(rows)).str();
}

// A schedule that is made, lowered and simulated.
struct Played {
  Schedule schedule;  // as generated, or as read from text
  Schedule lowered;
  Simulation simulation;
  std::optional<double> cap;
};

Result<MadeSchedule> make(const Question& question,
                          const ScheduleRequest& request,
                          const UniformTimes& times, int steps) {
  const auto costs_of = [&](const Schedule& schedule) {
    return uniform_costs(schedule, times);
  };
  if (question.text.empty()) return make_requested(request, costs_of, steps);
  const Result<Schedule> read = parse_schedule(question.text, "text");
  if (!read) return read.errors();
  const std::vector<Violation> violations = validate(*read);
  if (!violations.empty()) return to_diagnostics(violations);
  return MadeSchedule{*read, costs_of(*read), request.cap};
}

int read_steps(const std::string& text, Values& values) {
  const int steps = values.integer("--steps", text).value_or(1);
  if (steps < 1 || steps > kMostSteps) {
    values.refuse({.code = "E403",
                   .found = "--steps " + std::to_string(steps),
                   .needed = "must be between 1 and 1000"});
  }
  return steps;
}

Result<Played> play(const Question& question) {
  Values values;
  ScheduleRequest request = question.text.empty()
                                ? read_request(question.flags, values)
                                : read_file_request(question.flags, values);
  request.on_progress = [](const SearchProgress& progress) {
    tell_progress(progress.share, progress.best);
  };
  const UniformTimes times = question.times.read(values);
  const int steps = read_steps(question.steps, values);
  if (!values.errors().empty()) return values.errors();
  const Result<MadeSchedule> made = make(question, request, times, steps);
  if (!made) return made.errors();
  const double events =
      static_cast<double>(num_actions(made->schedule)) * 3 * steps;
  if (events > kMostEvents) {
    return Diagnostic{.code = "E209",
                      .found = "about " + number(events) + " events",
                      .needed = "are too many for this page",
                      .hint = "use chimera simulate"};
  }
  const Result<Schedule> lowered =
      lower_requested(made->schedule, request, made->costs);
  if (!lowered) return lowered.errors();
  return Played{
      made->schedule, *lowered,
      simulate(*lowered, made->costs, {.steps = steps, .cap = made->cap}),
      made->cap};
}

std::string curves_json(const Schedule& lowered, const Trace& trace) {
  std::vector<std::string> rows;
  for (const std::vector<HeldPoint>& curve : held_curves(lowered, trace)) {
    std::vector<double> times, held;
    for (const HeldPoint& point : curve) {
      times.push_back(point.time);
      held.push_back(point.held);
    }
    rows.push_back(JsonObject()
                       .json("times", json_list(times))
                       .json("held", json_list(held))
                       .str());
  }
  return json_list(rows);
}

std::string answer_simulate(const Question& question) {
  const Result<Played> played = play(question);
  if (!played) return to_json(played.errors());
  const auto& [schedule, lowered, simulation, cap] = *played;
  Timeline timeline = whole_timeline(simulation.trace);
  timeline.title = headline(lowered, simulation);
  shorten(timeline, kMostDrawn);
  std::vector<std::string> needs;
  for (const std::vector<int>& each : direct_needs(lowered, timeline.trace)) {
    needs.push_back(json_list(each));
  }
  const SimulationView view{
      .schedule = lowered, .simulation = simulation, .cap = cap};
  return JsonObject()
      .text("headline", timeline.title)
      .text("json", simulation_json(view))
      .text("text", simulation_text(view))
      .json("timeline", chimera::to_json(timeline))
      .json("needs", json_list(needs))
      .json("held", curves_json(lowered, simulation.trace))
      .number("pipes", lowered.pipes())
      .str();
}

Result<std::string> written(const Question& question, const Played& played) {
  const std::string& format = question.format;
  const Schedule& schedule =
      question.lowered ? played.lowered : played.schedule;
  if (format == "sched") return to_sched(schedule);
  if (format == "json") return chimera::to_json(schedule);
  if (format == "csv") return to_csv(schedule);
  if (format == "torch-csv") return to_torch_csv(schedule);
  if (format == "svg") {
    return draw(played.lowered, played.simulation, {.svg = true});
  }
  std::ostringstream out;
  write_chrome_trace(played.simulation.trace, 1000, out);
  return std::move(out).str();
}

std::string answer_write(const Question& question) {
  const Result<Played> played = play(question);
  if (!played) return to_json(played.errors());
  const Result<std::string> text = written(question, *played);
  if (!text) return to_json(text.errors());
  return JsonObject().text("text", *text).str();
}

// A schedule may have mistakes: it is read to be corrected.
std::string answer_read(const Question& question) {
  const Result<Schedule> schedule = parse_schedule(question.text, "text");
  if (!schedule) return to_json(schedule.errors());
  return JsonObject().text("text", to_sched(*schedule)).str();
}

// The mistakes that `check` finds, and what it prints.
std::string answer_check(const Question& question) {
  Values values;
  const std::optional<double> cap = values.time("--cap", question.flags.cap);
  if (!values.errors().empty()) return to_json(values.errors());
  const Result<Schedule> schedule = parse_schedule(question.text, "text");
  if (!schedule) {
    std::string lines;
    for (const Diagnostic& error : schedule.errors()) {
      lines += to_string(error) + "\n";
    }
    return JsonObject()
        .text("text", lines)
        .json("check", check_json(schedule.errors(), {}))
        .str();
  }
  const std::vector<Violation> violations = validate(*schedule, {.cap = cap});
  return JsonObject()
      .text("text", violations.empty() ? check_summary(*schedule)
                                       : check_text(*schedule, violations))
      .json("check", check_json({}, violations))
      .str();
}

std::string answer(std::string_view text) {
  Diagnostics errors;
  const Question question = read_question(text, errors);
  if (!errors.empty()) return to_json(errors);
  if (question.ask == "schemes") return answer_schemes();
  if (question.ask == "simulate") return answer_simulate(question);
  if (question.ask == "write") return answer_write(question);
  if (question.ask == "read") return answer_read(question);
  return answer_check(question);
}

}  // namespace
}  // namespace chimera::playground

extern "C" {

// Answers a question in JSON. ENSURES: the answer stays valid until the next
// call.
EMSCRIPTEN_KEEPALIVE const char* chimera_answer(const char* question) {
  static std::string kept;
  kept = chimera::playground::answer(question);
  return kept.c_str();
}

}  // extern "C"
