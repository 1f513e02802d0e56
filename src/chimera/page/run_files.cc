#include "chimera/page/run_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <set>

#include "chimera/base/files.h"
#include "chimera/base/json_reader.h"
#include "chimera/base/text.h"
#include "chimera/checkpoint/catalog.h"

namespace chimera {
namespace {

// Calls member(reader, key) for each member of the object in `file`.
template <class Member>
void read_object(const std::string& file, const Member& member) {
  const Result<std::string> text = read_file(file);
  if (!text) return;
  Diagnostics errors;
  JsonReader reader(*text, file, errors);
  reader.object(file, [&](const std::string& key) { member(reader, key); });
}

// "2026-11-18T01:02:03Z"; empty if there is no such file.
std::string time_written(const std::string& file) {
  struct stat status = {};
  if (stat(file.c_str(), &status) != 0) return "";
  std::tm parts = {};
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ",
                gmtime_r(&status.st_mtime, &parts));
  return text;
}

Host read_host(JsonReader& reader) {
  Host host;
  reader.object("a host", [&](const std::string& key) {
    if (key == "name") {
      host.name = reader.string(key).value_or("");
    } else if (key == "cores") {
      host.cores = reader.integer(key).value_or(0);
    } else if (key == "memory_bytes") {
      host.memory_bytes = reader.real(key).value_or(0);
    } else if (key == "ranks") {
      reader.array(key, [&] {
        host.ranks.push_back(reader.integer("a rank").value_or(-1));
      });
    } else {
      reader.skip();
    }
  });
  return host;
}

std::optional<Mark> parse_mark(const std::string& line) {
  Mark mark{.step = -1};
  Diagnostics errors;
  JsonReader reader(line, "events.jsonl", errors);
  reader.object("the line", [&](const std::string& key) {
    if (key == "step") {
      mark.step = reader.integer(key).value_or(-1);
    } else if (key == "kind") {
      mark.kind = reader.string(key).value_or("");
    } else if (key == "text") {
      mark.text = reader.string(key).value_or("");
    } else {
      reader.skip();
    }
  });
  reader.finish();
  if (!errors.empty() || mark.step < 0) return std::nullopt;
  return mark;
}

void add_events(const std::string& run_dir, std::vector<Mark>& marks) {
  std::ifstream file(run_dir + "/events.jsonl");
  std::size_t taken = 0;
  for (std::string line; taken < kMostMarks && std::getline(file, line);) {
    const std::optional<Mark> mark = parse_mark(line);
    if (!mark) continue;
    marks.push_back(*mark);
    ++taken;
  }
}

// Adds the checkpoints that events.jsonl does not mention.
void add_checkpoints(const std::string& run_dir, std::vector<Mark>& marks) {
  std::set<int> known;
  for (const Mark& mark : marks) {
    if (mark.kind == "save") known.insert(mark.step);
  }
  std::size_t taken = 0;
  for (const CheckpointEntry& entry : list_checkpoints(run_dir)) {
    if (known.count(entry.step) > 0) continue;
    const std::string name =
        std::filesystem::path(entry.path).filename().string();
    marks.push_back({entry.step, "save", "checkpoint " + name});
    if (++taken == kMostMarks) return;
  }
}

// Marks the failure of a run whose events.jsonl does not mention it, with the
// reason in the first line of a rank's flight recorder.
void add_flights(const std::string& run_dir, const StateFile& state,
                 std::vector<Mark>& marks) {
  constexpr std::size_t kLongestReason = 400;
  const bool is_told =
      std::any_of(marks.begin(), marks.end(),
                  [](const Mark& mark) { return mark.kind == "fault"; });
  if (state.state != "failed" || is_told) return;
  std::error_code error;
  std::set<std::string> reasons;
  for (const auto& entry :
       std::filesystem::directory_iterator(run_dir + "/flight", error)) {
    std::ifstream file(entry.path());
    std::string line;
    if (std::getline(file, line))
      reasons.insert(line.substr(0, kLongestReason));
    if (reasons.size() == kMostMarks) break;
  }
  for (const std::string& reason : reasons) {
    marks.push_back({state.step, "fault", reason});
  }
}

void add_end(const StateFile& state, std::vector<Mark>& marks) {
  if (state.state.empty() || state.state == "running") return;
  std::string text = "ended: " + state.state;
  if (state.exit) text += fmt::format(", exit code {}", *state.exit);
  marks.push_back(
      {state.step, state.state == "failed" ? "fault" : "end", text});
}

}  // namespace

StateFile read_state(const std::string& run_dir) {
  StateFile state;
  state.written = time_written(run_dir + "/state.json");
  read_object(run_dir + "/state.json",
              [&](JsonReader& reader, const std::string& key) {
                if (key == "state") {
                  state.state = reader.string(key).value_or("");
                } else if (key == "step") {
                  state.step = std::max(0, reader.integer(key).value_or(0));
                } else if (key == "exit") {
                  state.exit = reader.integer(key);
                } else {
                  reader.skip();
                }
              });
  return state;
}

MachineFile read_machine(const std::string& run_dir) {
  MachineFile machine;
  read_object(run_dir + "/machine.json", [&](JsonReader& reader,
                                             const std::string& key) {
    if (key == "version") {
      machine.version = reader.string(key).value_or("");
    } else if (key == "started") {
      machine.started = reader.string(key).value_or("");
    } else if (key == "hosts") {
      reader.array(key, [&] { machine.hosts.push_back(read_host(reader)); });
    } else {
      reader.skip();
    }
  });
  return machine;
}

MemoryFile read_memory(const std::string& run_dir) {
  MemoryFile memory;
  read_object(run_dir + "/memory.json", [&](JsonReader& reader,
                                            const std::string& key) {
    if (key == "peak_bytes") {
      reader.array(key, [&] {
        memory.peak_bytes.push_back(reader.real("bytes").value_or(0));
      });
    } else if (key == "resident_bytes") {
      memory.resident_bytes = reader.real(key).value_or(0);
    } else {
      reader.skip();
    }
  });
  return memory;
}

std::vector<Mark> read_marks(const std::string& run_dir,
                             const StateFile& state) {
  std::vector<Mark> marks;
  add_events(run_dir, marks);
  add_checkpoints(run_dir, marks);
  add_flights(run_dir, state, marks);
  add_end(state, marks);
  return marks;
}

}  // namespace chimera
