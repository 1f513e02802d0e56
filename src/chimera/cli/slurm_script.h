// Writes a batch script for SLURM from plain values. It knows the shell and
// sbatch, but not run.toml.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chimera {

struct SlurmJob {
  std::string name;     // REQUIRES: is_sbatch_word
  std::string title;    // one line: what the job runs
  std::string program;  // absolute path of the chimera program
  std::string config;   // absolute path of the run.toml
  std::string folder;   // base of relative paths in --set
  std::string run_dir;  // without the job's id, which is appended
  std::vector<std::string> overrides = {};  // values of --set
  int nodes = 1;
  int tasks = 1;  // REQUIRES: a multiple of nodes
  int cpus_per_task = 1;
  int signal_s = 120;     // warning before the time limit
  std::string time = {};  // time, partition, account: empty = default
  std::string partition = {};
  std::string account = {};
};

// REQUIRES: slurm_seconds accepts `time`, and is_sbatch_word accepts partition
// and account.
[[nodiscard]] std::string slurm_script(const SlurmJob& job);

// The text as one word of a POSIX shell, quoted only if necessary.
[[nodiscard]] std::string shell_word(std::string_view text);

// True if the text needs no quotes in an #SBATCH line.
[[nodiscard]] bool is_sbatch_word(std::string_view text);

// HH:MM:SS or D-HH:MM:SS in seconds. SLURM's shorter forms are refused because
// they are easily misread: 10 means minutes, 10:00 minutes and seconds.
[[nodiscard]] std::optional<long> slurm_seconds(std::string_view time);

}  // namespace chimera
