// The sched form: one fact per line; blank lines and # comments are ignored.
//
//   chimera-schedule-1
//   scheme chimera
//   depth 4
//   micros 4
//   width 1
//   parts 1
//   recompute 2              layers that an R runs again; all if left out
//   pipe 0: 0 1 2 3          worker of each stage
//   pipe 1: 3 2 1 0
//   group 0: 0/0 1/0         members as pipe/stage; lowered schedules only
//   worker 0: 0F0 0F1 3F2@1  cells in execution order, see cell.h
#include "chimera/base/text.h"
#include "chimera/schedule/cell.h"
#include "chimera/schedule/forms.h"
#include "chimera/schedule/scheme.h"

namespace chimera {

std::string to_sched(const Schedule& schedule) {
  std::string out = "chimera-schedule-1\n";
  out += "scheme " + schedule.scheme + "\n";
  out += "depth " + std::to_string(schedule.depth) + "\n";
  out += "micros " + std::to_string(schedule.micros) + "\n";
  out += "width " + std::to_string(schedule.width) + "\n";
  out += "parts " + std::to_string(schedule.parts) + "\n";
  if (schedule.recomputed_layers > 0) {
    out += "recompute " + std::to_string(schedule.recomputed_layers) + "\n";
  }
  for (int pipe = 0; pipe < schedule.pipes(); ++pipe) {
    out += "pipe " + std::to_string(pipe) + ":";
    for (const int worker : schedule.placement.worker_of[pipe]) {
      out += " " + std::to_string(worker);
    }
    out += "\n";
  }
  for (const SumGroup& group : schedule.groups) {
    out += "group " + std::to_string(group.id) + ":";
    for (const Member& member : group.members) {
      out += " " + std::to_string(member.pipe) + "/" +
             std::to_string(member.stage);
    }
    out += "\n";
  }
  for (size_t worker = 0; worker < schedule.actions.size(); ++worker) {
    out += "worker " + std::to_string(worker) + ":";
    for (const Action& action : schedule.actions[worker]) {
      out += " " + to_cell(action);
    }
    out += "\n";
  }
  return out;
}

namespace {

class SchedReader {
 public:
  SchedReader(std::string_view text, const std::string& file_name)
      : text_(text), file_(file_name) {}

  Result<Schedule> run() {
    for (const std::string_view line : split(text_, '\n')) {
      ++line_;
      read_line(trim(line.substr(0, line.find('#'))));
      if (errors_.size() >= kEnough) return errors_;
    }
    schedule_.placement.workers = static_cast<int>(schedule_.actions.size());
    if (!has_format_)
      refuse("E106", "the line chimera-schedule-1", "is missing");
    if (schedule_.depth == 0) refuse("E106", "depth", "is missing");
    if (schedule_.micros == 0) refuse("E106", "micros", "is missing");
    if (!errors_.empty()) return errors_;
    return std::move(schedule_);
  }

 private:
  static constexpr size_t kEnough = 100;

  void refuse(const char* code, const std::string& found,
              const std::string& needed, const std::string& hint = "") {
    // A line may have thousands of mistakes.
    if (errors_.size() >= kEnough) return;
    errors_.push_back({.code = code,
                       .where = file_ + ":" + std::to_string(line_),
                       .found = found,
                       .needed = needed,
                       .hint = hint});
  }

  void read_line(std::string_view line);
  void read_fact(const std::string& word, std::string_view value);
  // Checks the number in "`word` number: rest". True if it is one more than the
  // last one.
  bool counts_up(const std::string& word, std::string_view number,
                 size_t expected);
  void read_pipe(std::string_view rest);
  void read_group(std::string_view rest);
  void read_worker(std::string_view rest);

  std::string_view text_;
  std::string file_;
  int line_ = 0;
  bool has_format_ = false;
  Diagnostics errors_;
  Schedule schedule_;
};

// Calls use(word) for each blank-separated word.
template <class Use>
void each_word(std::string_view text, const Use& use) {
  for (const std::string_view word : split(text, ' ')) {
    if (const std::string_view trimmed = trim(word); !trimmed.empty()) {
      use(trimmed);
    }
  }
}

void SchedReader::read_line(std::string_view line) {
  if (line.empty()) return;
  if (line == "chimera-schedule-1") {
    has_format_ = true;
    return;
  }
  const size_t blank = line.find(' ');
  const std::string word(line.substr(0, blank));
  const std::string_view rest =
      blank == std::string_view::npos ? "" : trim(line.substr(blank));
  const size_t colon = rest.find(':');
  if (colon == std::string_view::npos) {
    read_fact(word, rest);
    return;
  }
  const std::string_view number = rest.substr(0, colon);
  const std::string_view items = rest.substr(colon + 1);
  const size_t pipes = schedule_.placement.worker_of.size();
  if (word == "pipe" && counts_up(word, number, pipes)) {
    read_pipe(items);
  } else if (word == "group" &&
             counts_up(word, number, schedule_.groups.size())) {
    read_group(items);
  } else if (word == "worker" &&
             counts_up(word, number, schedule_.actions.size())) {
    read_worker(items);
  } else if (word != "pipe" && word != "group" && word != "worker") {
    refuse("E104", "\"" + shown(word) + "\"", "is not known here",
           "one of pipe, group, worker");
  }
}

bool SchedReader::counts_up(const std::string& word, std::string_view number,
                            size_t expected) {
  if (parse_int(number) == static_cast<int>(expected)) return true;
  refuse("E107", word + " " + shown(number),
         "must be " + word + " " + std::to_string(expected) +
             ": they count up from 0");
  return false;
}

void SchedReader::read_fact(const std::string& word, std::string_view value) {
  if (word == "scheme") {
    schedule_.scheme = shown(value);
    schedule_.updates = updates_of(schedule_.scheme);
    return;
  }
  int* field = nullptr;
  if (word == "depth") field = &schedule_.depth;
  if (word == "micros") field = &schedule_.micros;
  if (word == "width") field = &schedule_.width;
  if (word == "parts") field = &schedule_.parts;
  if (word == "recompute") field = &schedule_.recomputed_layers;
  if (field == nullptr) {
    const std::string near = nearest_name(
        word, {"scheme", "depth", "micros", "width", "parts", "recompute",
               "pipe", "group", "worker", "chimera-schedule-1"});
    refuse("E104", "\"" + shown(word) + "\"", "is not known",
           near.empty() ? "" : "did you mean \"" + near + "\"?");
    return;
  }
  const std::optional<int> number = parse_int(value);
  if (!number || *number < 1) {
    refuse("E103", word + " = \"" + shown(value) + "\"",
           "must be a whole number of at least 1");
    return;
  }
  *field = *number;
}

void SchedReader::read_pipe(std::string_view rest) {
  std::vector<int>& row = schedule_.placement.worker_of.emplace_back();
  each_word(rest, [&](std::string_view word) {
    const std::optional<int> worker = parse_int(word);
    if (!worker) refuse("E102", "\"" + shown(word) + "\"", "is not a worker");
    row.push_back(worker.value_or(kNone));
  });
}

void SchedReader::read_group(std::string_view rest) {
  SumGroup group{.id = static_cast<int>(schedule_.groups.size()),
                 .members = {}};
  each_word(rest, [&](std::string_view word) {
    const size_t slash = word.find('/');
    const std::optional<int> pipe = parse_int(word.substr(0, slash));
    const std::optional<int> stage = slash == std::string_view::npos
                                         ? std::nullopt
                                         : parse_int(word.substr(slash + 1));
    if (!pipe || !stage) {
      refuse("E102", "\"" + shown(word) + "\"", "is not a member",
             "write pipe/stage, like 1/0");
    }
    group.members.push_back({pipe.value_or(kNone), stage.value_or(kNone)});
  });
  schedule_.groups.push_back(std::move(group));
}

void SchedReader::read_worker(std::string_view rest) {
  ActionList& list = schedule_.actions.emplace_back();
  each_word(rest, [&](std::string_view word) {
    const std::optional<Action> action = parse_cell(word);
    if (action) {
      list.push_back(*action);
    } else {
      refuse("E105", "\"" + shown(word) + "\"", "is not an action",
             "write stage, op, micro-batch, like 3B2@1");
    }
  });
}

}  // namespace

Result<Schedule> parse_sched(std::string_view text,
                             const std::string& file_name) {
  return SchedReader(text, file_name).run();
}

}  // namespace chimera
