#include "chimera/trace/chrome_read.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "chimera/base/json_reader.h"
#include "chimera/base/text.h"
#include "chimera/schedule/cell.h"

namespace chimera {
namespace {

// More workers than any machine has; keeps sums of ids in range.
constexpr int kMostWorkers = 1 << 20;

// The fields of one record that are read.
struct Record {
  std::string phase;
  std::string name;
  std::string category;
  std::string track_name;  // set if the record names a track
  int worker = kNone;
  int track = kNone;
  double start_us = 0;
  double length_us = 0;
  Event event;
};

class ChromeReader {
 public:
  ChromeReader(std::string_view text, const std::string& file_name,
               double us_per_unit)
      : file_(file_name),
        scale_(us_per_unit),
        reader_(text, file_name, errors_) {}

  Result<Trace> run() {
    reader_.array("the trace", [&] { take(read_record()); });
    if (trace_.events.empty()) {
      if (!errors_.empty()) return errors_;
      return Diagnostic{.code = "E101",
                        .where = file_,
                        .found = "no event",
                        .needed = "must be a trace that `train` wrote"};
    }
    name_peers();
    return std::move(trace_);
  }

 private:
  Record read_record() {
    Record record;
    reader_.object("a record", [&](const std::string& key) {
      if (key == "ph") {
        record.phase = reader_.string(key).value_or("");
      } else if (key == "name") {
        record.name = reader_.string(key).value_or("");
      } else if (key == "cat") {
        record.category = reader_.string(key).value_or("");
      } else if (key == "pid") {
        record.worker = reader_.integer(key).value_or(kNone);
      } else if (key == "tid") {
        record.track = reader_.integer(key).value_or(kNone);
      } else if (key == "ts") {
        record.start_us = reader_.real(key).value_or(0);
      } else if (key == "dur") {
        record.length_us = reader_.real(key).value_or(0);
      } else if (key == "args") {
        read_arguments(record);
      } else {
        reader_.skip();
      }
    });
    return record;
  }

  void read_arguments(Record& record) {
    Action& action = record.event.action;
    reader_.object("args", [&](const std::string& key) {
      const auto id = [&] { return reader_.integer(key).value_or(kNone); };
      if (key == "name") {
        record.track_name = reader_.string(key).value_or("");
      } else if (key == "step") {
        record.event.step = id();
      } else if (key == "pipe") {
        action.pipe = id();
      } else if (key == "stage") {
        action.stage = id();
      } else if (key == "micro") {
        action.micro = id();
      } else if (key == "part") {
        action.part = id() == 1 ? 1 : 0;
      } else {
        reader_.skip();
      }
    });
  }

  void take(const Record& record) {
    if (reader_.failed()) return;  // the file ends inside this record
    if (record.worker < 0 || record.worker >= kMostWorkers) return;
    if (record.phase == "M") take_track(record);
    if (record.phase == "X") take_slice(record);
  }

  // "to worker 3", "to worker 3 (2)": the peer of all messages on the track.
  void take_track(const Record& record) {
    constexpr std::string_view kPrefix = "to worker ";
    std::string_view name = record.track_name;
    if (record.name != "thread_name" || !name.starts_with(kPrefix)) return;
    name.remove_prefix(kPrefix.size());
    const auto peer = parse_int(name.substr(0, name.find(' ')));
    if (peer) peers_[{record.worker, record.track}] = *peer;
  }

  void take_slice(const Record& record) {
    const std::optional<Op> op = parse_op(record.category);
    if (!op || record.event.step < 0) return;
    Event event = record.event;
    event.action.op = *op;
    event.worker = record.worker;
    event.start = record.start_us / scale_;
    event.end = (record.start_us + record.length_us) / scale_;
    if (*op == Op::kG) {  // "sum 3"
      const auto at = record.name.find(' ');
      if (at == std::string::npos) return;
      event.action.group =
          parse_int(std::string_view(record.name).substr(at + 1))
              .value_or(kNone);
    }
    trace_.workers = std::max(trace_.workers, event.worker + 1);
    trace_.pipes = std::max(trace_.pipes, event.action.pipe + 1);
    trace_.steps = std::max(trace_.steps, event.step + 1);
    trace_.events.push_back(event);
    tracks_.push_back(record.track);
  }

  void name_peers() {
    for (size_t i = 0; i < trace_.events.size(); ++i) {
      Event& event = trace_.events[i];
      if (!is_send(event.action.op)) continue;
      const auto peer = peers_.find({event.worker, tracks_[i]});
      if (peer != peers_.end()) event.action.peer = peer->second;
    }
  }

  std::string file_;
  double scale_;
  Diagnostics errors_;
  JsonReader reader_;
  Trace trace_;
  std::vector<int> tracks_;                   // [event]
  std::map<std::pair<int, int>, int> peers_;  // (worker, track)
};

}  // namespace

Result<Trace> read_chrome_trace(std::string_view text,
                                const std::string& file_name,
                                double us_per_unit) {
  return ChromeReader(text, file_name, us_per_unit).run();
}

}  // namespace chimera
