// Compares, before the first step, what all ranks of a run must agree on. Each
// process reads its files itself, so they may differ.
#pragma once

#include <string>
#include <vector>

#include "chimera/base/exit_codes.h"
#include "chimera/base/result.h"
#include "chimera/train/setup.h"

namespace chimera {

// What one rank has read.
struct RankReport {
  std::string host;
  std::string version;   // version of the program
  std::string build;     // build id: another compilation may give other bits
  std::string config;    // run.toml without what may differ between hosts
  std::string schedule;  // hashes
  std::string model;
  std::string data;  // number of samples, and hashes of some
  // Mistakes in the rank's files, one line each, and their exit code.
  std::string errors;
  ExitCode code = kExitDone;

  bool operator==(const RankReport&) const = default;
};

// The report's config, schedule, model and data.
[[nodiscard]] RankReport report_of(const RunSetup& setup);

// Convert texts to the bytes of a message, and back.
[[nodiscard]] std::string pack(const std::vector<std::string>& texts);
[[nodiscard]] std::vector<std::string> unpack_texts(const std::string& bytes);
[[nodiscard]] std::string pack(const RankReport& report);
[[nodiscard]] RankReport unpack(const std::string& bytes);

// Reports every difference from rank 0 with rank, host and field, as E572.
[[nodiscard]] Diagnostics compare(const std::vector<RankReport>& reports);

}  // namespace chimera
