// The csv form: one row per worker, one cell per action, no header. Placement
// and counts are inferred from the cells.
#include <algorithm>
#include <cstdint>
#include <set>

#include "chimera/base/text.h"
#include "chimera/schedule/cell.h"
#include "chimera/schedule/forms.h"
#include "chimera/schedule/scheme.h"
#include "chimera/schedule/sum_plan.h"

namespace chimera {

std::string to_csv(const Schedule& schedule) {
  std::string out;
  for (const ActionList& list : schedule.actions) {
    for (size_t i = 0; i < list.size(); ++i) {
      if (i > 0) out += ',';
      out += to_cell(list[i]);
    }
    out += '\n';
  }
  return out;
}

namespace {

// Completes a schedule of which only the lists are known.
class CsvInference {
 public:
  CsvInference(Schedule schedule, std::string file_name)
      : schedule_(std::move(schedule)), file_(std::move(file_name)) {}

  Result<Schedule> run() {
    schedule_.scheme = "custom";
    schedule_.depth = static_cast<int>(schedule_.actions.size());
    schedule_.placement.workers = schedule_.depth;
    const Counts counts = named_counts();
    // Every stage of every pipe and every micro-batch needs a cell, so claims
    // beyond the number of cells are refused before anything is allocated. (A
    // cell may name a pipe alone, or a stage.)
    const auto cells = static_cast<std::int64_t>(num_actions(schedule_));
    if (std::max({counts.pipes, counts.stages, counts.pipes * counts.stages,
                  counts.micros}) > cells) {
      return refusal("the cells name " + std::to_string(counts.pipes) +
                         " pipes of " + std::to_string(counts.stages) +
                         " stages and " + std::to_string(counts.micros) +
                         " micro-batches",
                     "but there are only " + std::to_string(cells) + " cells");
    }
    schedule_.micros = static_cast<int>(counts.micros);
    infer_placement(static_cast<int>(counts.pipes),
                    static_cast<int>(counts.stages));
    if (!errors_.empty()) return errors_;
    infer_scheme();
    infer_groups();
    return std::move(schedule_);
  }

 private:
  // One more than the highest number of each kind, in 64 bits because a cell
  // may name the highest int.
  struct Counts {
    std::int64_t pipes = 0;
    std::int64_t stages = 0;
    std::int64_t micros = 0;
  };

  Counts named_counts() {
    Counts counts;
    const auto cover = [](std::int64_t& count, int number) {
      count = std::max(count, std::int64_t{number} + 1);
    };
    for (const ActionList& list : schedule_.actions) {
      for (const Action& action : list) {
        cover(counts.pipes, action.pipe);
        cover(counts.stages, action.stage);
        cover(counts.micros, action.micro);
        schedule_.parts = std::max(schedule_.parts, action.part + 1);
      }
    }
    return counts;
  }

  Diagnostic refusal(const std::string& found, const std::string& needed) {
    return {.code = "E107", .where = file_, .found = found, .needed = needed};
  }

  // Takes the holder of a stage from any action on it: forwards, and in lowered
  // lists also the updates of pipes without micro-batches.
  void infer_placement(int pipes, int stages) {
    std::vector<std::vector<int>>& worker_of = schedule_.placement.worker_of;
    worker_of.assign(pipes, std::vector<int>(stages, kNone));
    for (int worker = 0; worker < schedule_.depth; ++worker) {
      for (const Action& action : schedule_.actions[worker]) {
        if (action.stage == kNone || action.pipe == kNone) continue;
        int& holder = worker_of[action.pipe][action.stage];
        if (holder == kNone || action.op == Op::kF) holder = worker;
      }
    }
    for (int pipe = 0; pipe < pipes; ++pipe) {
      for (int stage = 0; stage < stages; ++stage) {
        int& holder = worker_of[pipe][stage];
        // A stage of an idle pipe without an update shares its holder with pipe
        // 0.
        if (holder == kNone) holder = worker_of[0][stage];
        if (holder != kNone || errors_.size() >= 100) continue;
        errors_.push_back(
            refusal("stage " + std::to_string(stage) + " of pipe " +
                        std::to_string(pipe),
                    "has no action, so no worker is known for it"));
      }
    }
  }

  // Recognises the asynchronous schemes by updates within the step or by
  // actions that lag.
  void infer_scheme() {
    const bool lowered = is_lowered(schedule_);
    bool every_micro = false;
    bool asynchronous = false;
    for (const ActionList& list : schedule_.actions) {
      for (const Action& action : list) {
        const bool update = action.op == Op::kU;
        every_micro = every_micro || (update && action.micro != kNone);
        const bool lags = action.step < 0 && action.op != Op::kV;
        asynchronous = asynchronous || lags || (update && !lowered);
      }
    }
    if (every_micro) {
      schedule_.scheme = "pipedream";
    } else if (asynchronous) {
      schedule_.scheme = "pipedream-2bw";
    }
    schedule_.updates = updates_of(schedule_.scheme);
  }

  // Rebuilds the sum groups, which a lowered list names by number: those of the
  // placement first, then the tied one. A sum of a stage with one holder
  // implies data-parallel copies, but the cells do not tell how many: 2 is
  // assumed.
  void infer_groups() {
    if (!is_lowered(schedule_)) return;
    std::set<int> numbers;
    for (const ActionList& list : schedule_.actions) {
      for (const Action& action : list) {
        if (action.op == Op::kG) numbers.insert(action.group);
      }
    }
    if (numbers.empty()) return;
    const bool one_holder = schedule_.pipes() == 1;
    if (one_holder && (numbers.size() > 1 || schedule_.stages() == 1)) {
      schedule_.width = 2;
    }
    schedule_.groups = sum_groups(schedule_.placement, schedule_.width, false);
    if (*numbers.rbegin() >= static_cast<int>(schedule_.groups.size())) {
      schedule_.groups = sum_groups(schedule_.placement, schedule_.width, true);
    }
  }

  Schedule schedule_;
  std::string file_;
  Diagnostics errors_;
};

}  // namespace

Result<Schedule> parse_csv(std::string_view text,
                           const std::string& file_name) {
  Diagnostics errors;
  Schedule schedule;
  if (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  for (const std::string_view row : split(text, '\n')) {
    ActionList& list = schedule.actions.emplace_back();
    for (const std::string_view field : split(row, ',')) {
      const std::string_view cell = trim(field);
      if (cell.empty()) continue;  // an idle slot, as torch writes it
      if (const std::optional<Action> action = parse_cell(cell)) {
        list.push_back(*action);
      } else if (errors.size() < 100) {
        errors.push_back(
            {.code = "E105",
             .where = file_name + ":" + std::to_string(schedule.actions.size()),
             .found = "\"" + shown(cell) + "\"",
             .needed = "is not an action",
             .hint = "write stage, op, micro-batch, like 3B2@1"});
      }
    }
  }
  if (!errors.empty()) return errors;
  return CsvInference(std::move(schedule), file_name).run();
}

namespace {

// Whether the first line that is not a comment is a TOML section: [model].
bool is_toml(std::string_view text) {
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view bare = trim(line);
    if (bare.empty() || bare[0] == '#') continue;
    return bare.size() > 2 && bare[0] == '[' && bare[1] >= 'a' &&
           bare[1] <= 'z' && bare.find(']') != std::string_view::npos;
  }
  return false;
}

}  // namespace

Result<Schedule> parse_schedule(std::string_view text,
                                const std::string& file_name) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) {
    return Diagnostic{.code = "E101",
                      .where = file_name,
                      .found = "the file",
                      .needed = "is empty",
                      .hint = "write one with `chimera schedule ... -o FILE`"};
  }
  if (is_toml(text)) {
    return Diagnostic{
        .code = "E101",
        .where = file_name,
        .found = "this",
        .needed = "is a TOML file (a run.toml?), not a schedule",
        .hint = "chimera train --dry-run -c " + file_name + " checks it"};
  }
  if (text[begin] == '{' || text[begin] == '[') {
    return parse_json(text, file_name);
  }
  const bool sched =
      text[begin] == '#' || text.substr(begin).starts_with("chimera-schedule");
  return sched ? parse_sched(text, file_name) : parse_csv(text, file_name);
}

}  // namespace chimera
