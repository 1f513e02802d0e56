// A batch script for SLURM from plain values. Knows the shell and sbatch, and
// nothing of run.toml.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chimera {

struct SlurmJob {
  std::string name;     // REQUIRES: is_sbatch_word
  std::string title;    // one line: what is run
  std::string program;  // absolute path of chimera
  std::string config;   // absolute path of the run.toml
  std::string folder;   // where relative paths of the run.toml start
  std::string run_dir;  // the job's id is added to it
  std::vector<std::string> overrides = {};  // of --set
  int nodes = 1;
  int tasks = 1;  // REQUIRES: a multiple of nodes
  int cpus_per_task = 1;
  int signal_s = 120;     // warning before the time limit
  std::string time = {};  // these three: empty = the cluster's default
  std::string partition = {};
  std::string account = {};
};

// REQUIRES: time, partition and account are what slurm_seconds and
// is_sbatch_word accept.
[[nodiscard]] std::string slurm_script(const SlurmJob& job);

// The text as one word of a POSIX shell, quoted only where it has to be.
[[nodiscard]] std::string shell_word(std::string_view text);

// Whether the text can stand in an #SBATCH line as it is.
[[nodiscard]] bool is_sbatch_word(std::string_view text);

// HH:MM:SS or D-HH:MM:SS in seconds. SLURM also takes shorter forms, in which
// 10 is minutes and 10:00 is minutes and seconds: too easily meant otherwise.
[[nodiscard]] std::optional<long> slurm_seconds(std::string_view time);

}  // namespace chimera
