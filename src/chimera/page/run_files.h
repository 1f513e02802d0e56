// The small files of a run directory, as far as a page shows them. Missing or
// damaged values are left empty.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chimera/page/mark.h"

namespace chimera {

// state.json
struct StateFile {
  std::string state;  // running, done, saved, interrupted, failed; "" = unknown
  int step = 0;
  std::optional<int> exit;
  // When the file was written, as "2026-11-18T01:02:03Z". An old time shows
  // that a run was killed, because its state stays "running".
  std::string written;
};
[[nodiscard]] StateFile read_state(const std::string& run_dir);

// machine.json: {"version":"0.1.0","started":"2026-11-18T01:02:03Z",
//   "hosts":[{"name":"node1","cores":8,"memory_bytes":33e9,"ranks":[0,1]}]}
struct Host {
  std::string name;
  int cores = 0;  // 0 = unknown
  double memory_bytes = 0;
  std::vector<int> ranks;
};
struct MachineFile {
  std::string version;
  std::string started;
  std::vector<Host> hosts;
};
[[nodiscard]] MachineFile read_machine(const std::string& run_dir);

// memory.json
struct MemoryFile {
  std::vector<double> peak_bytes;  // [rank]
  double resident_bytes = 0;       // peak of rank 0's process
};
[[nodiscard]] MemoryFile read_memory(const std::string& run_dir);

// Reads all incidents, unsorted: events.jsonl (one object per line with "step",
// "kind" (mark.h) and "text"), existing checkpoints, flight recorders, and how
// the run ended.
[[nodiscard]] std::vector<Mark> read_marks(const std::string& run_dir,
                                           const StateFile& state);

}  // namespace chimera
