// The csv form: one row a worker, one cell an action, no header. Placement and
// counts are read off the cells.
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

// The schedule whose lists are read, with what the lists imply filled in.
class CsvInference {
 public:
  CsvInference(Schedule schedule, std::string file_name)
      : schedule_(std::move(schedule)), file_(std::move(file_name)) {}

  Result<Schedule> run() {
    schedule_.scheme = "custom";
    schedule_.depth = static_cast<int>(schedule_.actions.size());
    schedule_.placement.workers = schedule_.depth;
    const Counts counts = named_counts();
    // Each stage of each pipe needs a cell, and each micro-batch does, so a
    // file cannot claim more. (A cell may name a pipe alone, or a stage.)
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
  // One more than the highest number; a cell may name the highest int.
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

  // Off any action of a stage: forwards, and in lowered lists the updates of
  // pipes that no micro-batch goes through.
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
        // An idle pipe's stage without an update of its own shares another's.
        if (holder == kNone) holder = worker_of[0][stage];
        if (holder != kNone || errors_.size() >= 100) continue;
        errors_.push_back(
            refusal("stage " + std::to_string(stage) + " of pipe " +
                        std::to_string(pipe),
                    "has no action, so no worker is known for it"));
      }
    }
  }

  // Updates inside the step, or work that lags, are the asynchronous schemes'.
  void infer_scheme() {
    const bool lowered = is_lowered(schedule_);
    bool every_micro = false;
    bool asynchronous = false;
    for (const ActionList& list : schedule_.actions) {
      for (const Action& action : list) {
        const bool update = action.op == Op::kU;
        every_micro = every_micro || (update && action.micro != kNone);
        asynchronous = asynchronous || action.step < 0 || (update && !lowered);
      }
    }
    if (every_micro) {
      schedule_.scheme = "pipedream";
    } else if (asynchronous) {
      schedule_.scheme = "pipedream-2bw";
    }
    schedule_.updates = updates_of(schedule_.scheme);
  }

  // A lowered list starts sums by number: those of the placement, then the
  // tied one. Sums of stages with one holder mean that there are copies; how
  // many, the cells do not say.
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
      if (cell.empty()) continue;  // an idle slot, as torch writes them
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
  if (text[begin] == '{' || text[begin] == '[') {
    return parse_json(text, file_name);
  }
  const bool sched =
      text[begin] == '#' || text.substr(begin).starts_with("chimera-schedule");
  return sched ? parse_sched(text, file_name) : parse_csv(text, file_name);
}

}  // namespace chimera
