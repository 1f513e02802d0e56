#include "chimera/page/run_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "chimera/base/files.h"
#include "chimera/config/parse.h"
#include "chimera/plan/forecast.h"
#include "chimera/plan/own_layers.h"
#include "chimera/plan/run_schedule.h"
#include "chimera/schedule/forms.h"
#include "chimera/schedule/validate.h"
#include "chimera/simulate/simulate.h"
#include "chimera/trace/measure.h"

namespace chimera {
namespace {

namespace fs = std::filesystem;

// Marks the step at which the order changed. If events.jsonl does not tell it,
// run.toml does.
void add_replan(RunRecord& record) {
  std::error_code error;
  if (!record.config) return;
  if (!fs::exists(record.path + "/replanned.sched", error)) return;
  const bool is_known =
      std::any_of(record.marks.begin(), record.marks.end(),
                  [](const Mark& mark) { return mark.kind == "replan"; });
  if (is_known) return;
  record.marks.push_back({record.config->schedule.replan_after, "replan",
                          "planned again with the measured times"});
}

class RunReading {
 public:
  RunReading(const std::string& path, const PageBudget& budget)
      : budget_(budget) {
    record_.path = path;
    // "runs/a/" and "." have no file name of their own.
    std::error_code error;
    const fs::path full = fs::canonical(path, error);
    record_.name = (error ? fs::path(path) : full).filename().string();
  }

  RunRecord run() {
    read_config();
    read_schedule();
    refresh_state(record_);
    record_.machine = read_machine(record_.path);
    record_.memory = read_memory(record_.path);
    if (record_.schedule) {
      predict_bytes();
      read_timelines();
    }
    return std::move(record_);
  }

 private:
  [[nodiscard]] std::string file(const char* name) const {
    return record_.path + "/" + name;
  }
  void note(const std::string& text) { record_.notes.push_back(text); }
  void note(const char* what, const Diagnostics& errors) {
    note(fmt::format("{}: {}", what, to_string(errors[0])));
  }

  void read_config() {
    const Result<std::string> text = read_file(file("config.toml"));
    if (!text) return note("config.toml cannot be read");
    record_.config_text = *text;
    const Result<RunConfig> config = parse_run_config(*text, "config.toml", {});
    if (!config) return note("config.toml is not understood", config.errors());
    record_.config = *config;
  }

  // Reads the order that the run changed to, if it replanned.
  void read_schedule() {
    for (const char* name : {"replanned.sched", "schedule.sched"}) {
      const Result<std::string> text = read_file(file(name));
      if (!text) continue;
      const Result<Schedule> schedule = parse_schedule(*text, name);
      if (!schedule) {
        note(fmt::format("{} is not understood", name).c_str(),
             schedule.errors());
        continue;
      }
      const std::vector<Violation> violations = validate(*schedule);
      if (!violations.empty() || !is_lowered(*schedule)) {
        note(fmt::format("{} does not hold: see `chimera check`", name));
        continue;
      }
      record_.schedule = *schedule;
      if (text->size() <= budget_.schedule_bytes) {
        record_.schedule_text = *text;
      } else {
        note(
            fmt::format("the schedule is too long to include ({:.1f} MB): "
                        "see {}",
                        1e-6 * static_cast<double>(text->size()), name));
      }
      return;
    }
    note("there is no schedule: no timeline, no memory");
  }

  [[nodiscard]] bool has_shape() const {
    return record_.config && chimera::has_shape(record_.config->model) &&
           record_.config->schedule.micro_batch;
  }

  // Checks every stage, because the files may belong to different runs.
  [[nodiscard]] bool has_emulated_times() const {
    if (!record_.config) return false;
    if (record_.config->model.kind != ModelKind::kEmulated) return false;
    const EmulatedConfig& times = record_.config->emulated;
    const auto stages = static_cast<std::size_t>(record_.schedule->stages());
    const auto fits = [&](const std::vector<double>& list) {
      return list.size() == 1 || list.size() == stages;
    };
    return fits(times.forward_ms) && fits(times.input_grad_ms) &&
           fits(times.weight_grad_ms);
  }

  void predict_bytes() {
    if (!has_shape()) return;
    const RunConfig& config = *record_.config;
    const int layers = num_layers(shape_of(config.model));
    const std::vector<int>& cut = config.schedule.cut;
    // Checks the cut, because the files may belong to different runs.
    if (record_.schedule->stages() > layers) return;
    if (!cut.empty() && cut.back() >= layers) return;
    record_.predicted_bytes =
        run_memory(config, own_layers(config.model), *record_.schedule);
  }

  void read_timelines() {
    const Schedule& schedule = *record_.schedule;
    const Result<Trace> trace = read_run_trace(file("trace.json"), schedule);
    if (!trace) {
      std::error_code error;
      if (fs::exists(file("trace.json"), error)) {
        note("trace.json is not understood", trace.errors());
      } else {
        note("no step was traced: run.trace = true writes trace.json");
      }
    }
    add_planned(trace);
    if (!trace) return;
    record_.measured_times = worker_times(*trace);
    for (Timeline& timeline : chosen_steps(*trace)) {
      add_timeline(std::move(timeline));
    }
  }

  void add_planned(const Result<Trace>& measured) {
    const Schedule& schedule = *record_.schedule;
    record_.time_unit = "s";
    std::string title = "planned, with the measured times of its actions";
    Costs costs;
    if (measured) {
      costs = measured_costs(schedule, *measured);
    } else if (has_emulated_times()) {
      costs = emulated_costs(*record_.config, schedule);
      title = "planned, with the emulated times";
    } else {
      costs = uniform_costs(schedule, {});
      record_.time_unit = "units";
      title = "planned, where a forward takes 1 and a backward 2";
    }
    const Simulation simulation = simulate(schedule, costs);
    record_.planned_times = worker_times(simulation.trace);
    Timeline timeline = step_timeline(simulation.trace, 0);
    timeline.title = title;
    timeline.kind = "planned";
    add_timeline(std::move(timeline));
  }

  // Always adds the first two, shortened if necessary; more if there is room.
  void add_timeline(Timeline timeline) {
    if (record_.timelines.size() < 2) {
      shorten(timeline, budget_.events / 2);
    } else if (events_ + timeline.trace.events.size() > budget_.events) {
      return;
    }
    events_ += timeline.trace.events.size();
    record_.timelines.push_back(std::move(timeline));
  }

  PageBudget budget_;
  RunRecord record_;
  std::size_t events_ = 0;  // number in all timelines so far
};

}  // namespace

PageBudget budget_for(std::size_t num_runs) {
  PageBudget budget;
  budget.curve_groups = num_runs <= 1 ? 2048 : num_runs <= 4 ? 1024 : 512;
  budget.events /= std::max<std::size_t>(1, num_runs);
  budget.schedule_bytes /= std::max<std::size_t>(1, num_runs);
  return budget;
}

void refresh_state(RunRecord& record) {
  record.state = read_state(record.path);
  record.marks = read_marks(record.path, record.state);
  add_replan(record);
  std::stable_sort(
      record.marks.begin(), record.marks.end(),
      [](const Mark& a, const Mark& b) { return a.step < b.step; });
}

Result<RunRecord> read_run(const std::string& path, const PageBudget& budget) {
  std::error_code error;
  for (const char* name : {"config.toml", "metrics.jsonl", "state.json"}) {
    if (!fs::exists(fs::path(path) / name, error)) continue;
    return RunReading(path, budget).run();
  }
  return Diagnostic{
      .code = "E411",
      .where = path,
      .found = "the run directory",
      .needed = fs::is_directory(path, error)
                    ? "has no config.toml, metrics.jsonl or state.json"
                    : "does not exist",
      .hint = "it is run.dir of its run.toml, or what --run-dir named"};
}

}  // namespace chimera
