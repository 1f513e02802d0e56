// What ranks of one run must agree on, compared before the first step. Each
// process reads its own files, so each may have read something else.
#pragma once

#include <string>
#include <vector>

#include "chimera/base/exit_codes.h"
#include "chimera/base/result.h"
#include "chimera/train/setup.h"

namespace chimera {

// What one rank has to say.
struct RankReport {
  std::string host;
  std::string version;   // of the program
  std::string build;     // another compilation may give other bits
  std::string config;    // as run.toml, without what may differ between hosts
  std::string schedule;  // hashes
  std::string model;
  std::string data;  // how many samples
  // What is wrong with the rank's own files, one line each, and its exit code.
  std::string errors;
  ExitCode code = kExitDone;

  bool operator==(const RankReport&) const = default;
};

// What `setup` contributes: config, schedule, model, data.
[[nodiscard]] RankReport report_of(const RunSetup& setup);

// Texts as bytes for a message, and back.
[[nodiscard]] std::string pack(const std::vector<std::string>& texts);
[[nodiscard]] std::vector<std::string> unpack_texts(const std::string& bytes);
[[nodiscard]] std::string pack(const RankReport& report);
[[nodiscard]] RankReport unpack(const std::string& bytes);

// Every difference of a rank from rank 0, by rank, host and field:
//   E572 a difference
[[nodiscard]] Diagnostics compare(const std::vector<RankReport>& reports);

}  // namespace chimera
