// The protocol of the race's programs: each number on stdin asks for a block of
// that many steps, and one line of JSON on stdout reports it. A process thus
// stays warm between its turns.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "chimera/base/files.h"
#include "chimera/base/result.h"
#include "chimera/config/parse.h"
#include "chimera/train/setup.h"

namespace chimera {

struct BlockReport {
  double seconds = 0;    // measured, of the whole block
  double simulated = 0;  // by the simulator; 0 if stages are real
  std::vector<double> losses;
};

// The steps of the next block; 0 at the end of stdin.
inline int read_block() {
  int steps = 0;
  return std::cin >> steps ? steps : 0;
}

// The largest memory of this process so far, in KiB.
inline long peak_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    long kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib;
  }
  return 0;
}

inline void print_block(const BlockReport& report) {
  fmt::print(
      "{{\"seconds\":{},\"simulated\":{},\"peak_kib\":{},"
      "\"losses\":[{}]}}\n",
      report.seconds, report.simulated, peak_kib(),
      fmt::join(report.losses, ","));
  std::fflush(stdout);
}

// The setup that `chimera train -c FILE --set ...` would run; prints every
// mistake.
inline std::unique_ptr<RunSetup> set_up_race(
    const std::string& file, const std::vector<std::string>& overrides) {
  const auto refuse = [](const Diagnostics& errors) {
    for (const Diagnostic& error : errors) {
      std::cerr << to_string(error) << '\n';
    }
    return nullptr;
  };
  const Result<std::string> text = read_file(file);
  if (!text) return refuse(text.errors());
  const Result<RunConfig> config =
      parse_training_config(*text, file, overrides);
  if (!config) return refuse(config.errors());
  Result<std::unique_ptr<RunSetup>> setup = set_up(*config, {.host_cores = 1});
  if (!setup) return refuse(setup.errors());
  return std::move(setup).value();
}

}  // namespace chimera
