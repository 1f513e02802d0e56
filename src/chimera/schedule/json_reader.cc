// Reads the JSON form (docs/schedule-format.md).
#include "chimera/base/json_reader.h"

#include <limits>
#include <set>

#include "chimera/base/text.h"
#include "chimera/schedule/cell.h"
#include "chimera/schedule/forms.h"
#include "chimera/schedule/scheme.h"

namespace chimera {
namespace {

class ScheduleReader {
 public:
  ScheduleReader(std::string_view text, const std::string& file_name)
      : json_(text, file_name, errors_) {}

  Result<Schedule> run() {
    json_.object("the document",
                 [&](const std::string& key) { read_top(key); });
    json_.finish();
    if (!json_.failed()) check_whole();
    if (!errors_.empty()) return errors_;
    return std::move(schedule_);
  }

 private:
  void read_top(const std::string& key);
  void read_placement();
  void read_action(ActionList& list);
  void read_op(Action& action);
  void read_group();
  int bounded(const std::string& name, int least, int most);
  void check_whole();

  Diagnostics errors_;
  JsonReader json_;
  Schedule schedule_;
  std::set<std::string> seen_;
  int pipes_ = kNone;
  int stages_ = kNone;
  int workers_ = kNone;
};

const std::vector<std::string>& top_keys() {
  static const std::vector<std::string> kKeys = {
      "format",    "scheme",  "depth", "micros", "pipes",
      "stages",    "workers", "width", "parts",  "recompute",
      "placement", "actions", "groups"};
  return kKeys;
}

// Reads a number; kNone (and a recorded mistake) if it is out of range.
int ScheduleReader::bounded(const std::string& name, int least, int most) {
  const std::optional<int> value = json_.integer(name);
  if (!value) return kNone;
  if (*value >= least && *value <= most) return *value;
  json_.refuse("E103", name + " = " + std::to_string(*value),
               "is out of range");
  return kNone;
}

void ScheduleReader::read_top(const std::string& key) {
  constexpr int kMost = std::numeric_limits<int>::max();
  if (!seen_.insert(key).second) {
    json_.refuse("E104", "key \"" + shown(key) + "\"", "is there twice");
  }
  if (key == "format") {
    const std::optional<std::string> format = json_.string(key);
    if (format && *format != "chimera-schedule-1") {
      json_.refuse("E101", "format = \"" + shown(*format) + "\"",
                   "must be \"chimera-schedule-1\"");
    }
  } else if (key == "scheme") {
    schedule_.scheme = shown(json_.string(key).value_or(""));
    schedule_.updates = updates_of(schedule_.scheme);
  } else if (key == "depth") {
    schedule_.depth = bounded(key, 1, kMost);
  } else if (key == "micros") {
    schedule_.micros = bounded(key, 1, kMost);
  } else if (key == "width") {
    schedule_.width = bounded(key, 1, kMost);
  } else if (key == "parts") {
    schedule_.parts = bounded(key, 1, 2);
  } else if (key == "recompute") {
    schedule_.recomputed_layers = bounded(key, 1, kMost);
  } else if (key == "pipes") {
    pipes_ = bounded(key, 1, kMost);
  } else if (key == "stages") {
    stages_ = bounded(key, 1, kMost);
  } else if (key == "workers") {
    workers_ = bounded(key, 1, kMost);
  } else if (key == "placement") {
    read_placement();
  } else if (key == "actions") {
    json_.array(key, [&] {
      ActionList& list = schedule_.actions.emplace_back();
      json_.array("a worker's actions", [&] { read_action(list); });
    });
  } else if (key == "groups") {
    json_.array(key, [&] { read_group(); });
  } else {
    json_.unknown_key(key, top_keys());
  }
}

void ScheduleReader::read_placement() {
  json_.array("placement", [&] {
    std::vector<int>& row = schedule_.placement.worker_of.emplace_back();
    json_.array("a pipe's workers", [&] {
      row.push_back(json_.integer("a worker").value_or(kNone));
    });
  });
}

void ScheduleReader::read_op(Action& action) {
  const std::optional<std::string> text = json_.string("op");
  if (!text) return;
  if (const std::optional<Op> op = parse_op(*text)) {
    action.op = *op;
  } else {
    json_.refuse("E105", "op = \"" + shown(*text) + "\"", "is not an op",
                 "one of F B I W U R RF RB SF SB G N V");
  }
}

void ScheduleReader::read_action(ActionList& list) {
  Action action;
  bool has_op = false;
  json_.object("an action", [&](const std::string& key) {
    constexpr int kMost = std::numeric_limits<int>::max();
    if (key == "op") {
      has_op = true;
      read_op(action);
    } else if (key == "pipe") {
      action.pipe = bounded(key, 0, kMost);
    } else if (key == "stage") {
      action.stage = bounded(key, 0, kMost);
    } else if (key == "micro") {
      action.micro = bounded(key, 0, kMost);
    } else if (key == "part") {
      action.part = static_cast<std::uint8_t>(bounded(key, 0, 1));
    } else if (key == "step") {
      constexpr int kLeast = std::numeric_limits<std::int16_t>::min();
      action.step = static_cast<std::int16_t>(bounded(key, kLeast, 0));
    } else if (key == "peer") {
      action.peer = bounded(key, 0, kMost);
    } else if (key == "group") {
      action.group = bounded(key, 0, kMost);
    } else {
      json_.unknown_key(key, {"op", "pipe", "stage", "micro", "part", "step",
                              "peer", "group"});
    }
  });
  if (!has_op && !json_.failed()) {
    json_.refuse("E105", "an action without op", "says nothing");
  }
  list.push_back(action);
}

void ScheduleReader::read_group() {
  constexpr int kMost = std::numeric_limits<int>::max();
  SumGroup group{.id = kNone, .members = {}};
  json_.object("a group", [&](const std::string& key) {
    if (key == "id") {
      group.id = bounded(key, 0, kMost);
    } else if (key == "members") {
      json_.array(key, [&] {
        Member member{kNone, kNone};
        json_.object("a member", [&](const std::string& field) {
          if (field == "pipe") {
            member.pipe = bounded(field, 0, kMost);
          } else if (field == "stage") {
            member.stage = bounded(field, 0, kMost);
          } else {
            json_.unknown_key(field, {"pipe", "stage"});
          }
        });
        group.members.push_back(member);
      });
    } else {
      json_.unknown_key(key, {"id", "members"});
    }
  });
  schedule_.groups.push_back(std::move(group));
}

// Records missing keys, and counts that contradict the lists.
void ScheduleReader::check_whole() {
  for (const char* key :
       {"format", "scheme", "depth", "micros", "placement", "actions"}) {
    if (seen_.count(key) == 0) {
      json_.refuse("E106", std::string("key \"") + key + "\"", "is missing");
    }
  }
  const auto agree = [&](const char* name, int claimed, int found) {
    if (claimed == kNone || claimed == found) return;
    json_.refuse("E107", std::string(name) + " = " + std::to_string(claimed),
                 "does not agree with the " + std::to_string(found) +
                     " that the lists hold");
  };
  schedule_.placement.workers = static_cast<int>(schedule_.actions.size());
  agree("pipes", pipes_, schedule_.pipes());
  agree("stages", stages_, schedule_.stages());
  agree("workers", workers_, schedule_.workers());
}

}  // namespace

Result<Schedule> parse_json(std::string_view text,
                            const std::string& file_name) {
  return ScheduleReader(text, file_name).run();
}

}  // namespace chimera
