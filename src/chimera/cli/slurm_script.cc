#include "chimera/cli/slurm_script.h"

#include <algorithm>

#include "chimera/base/text.h"

namespace chimera {
namespace {

bool is_one_of(std::string_view text, std::string_view more) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool digit = c >= '0' && c <= '9';
    return letter || digit || more.find(c) != std::string_view::npos;
  });
}

std::string sbatch(const std::string& option, const std::string& value) {
  return value.empty() ? "" : "#SBATCH --" + option + "=" + value + "\n";
}

std::string header(const SlurmJob& job) {
  const auto text = [](int value) { return std::to_string(value); };
  return "#!/bin/bash\n# " + job.title +
         "\n# Written by `chimera init slurm`; submit it with sbatch.\n" +
         sbatch("job-name", job.name) + sbatch("partition", job.partition) +
         sbatch("account", job.account) + sbatch("nodes", text(job.nodes)) +
         sbatch("ntasks", text(job.tasks)) +
         sbatch("ntasks-per-node", text(job.tasks / job.nodes)) +
         "# Ranks in a row, the neighbours of a pipeline, share a node.\n" +
         sbatch("distribution", "block") +
         "# Threads of one worker. The run below takes this number.\n" +
         sbatch("cpus-per-task", text(job.cpus_per_task)) +
         (job.time.empty() ? "# Without --time the partition's limit holds.\n"
                           : sbatch("time", job.time)) +
         "# The run is told to save and end this long before the limit.\n" +
         sbatch("signal", "USR1@" + text(job.signal_s)) +
         "# A job that is started again must not wipe its first log.\n" +
         "#SBATCH --requeue\n" + sbatch("open-mode", "append") +
         sbatch("output", "%x-%j.log");
}

std::string command(const SlurmJob& job) {
  std::string text =
      "# --resume goes on from the newest checkpoint, if there is one.\n"
      "# --mpi=pmix makes the processes one MPI job; --kill-on-bad-exit ends "
      "all\n"
      "# when one fails, and leaves them KillWait seconds to save (without it "
      "pmix\n"
      "# kills them at once); srun does not take --cpus-per-task over from "
      "sbatch.\n"
      "srun --mpi=pmix --kill-on-bad-exit=1 "
      "--cpus-per-task=\"$SLURM_CPUS_PER_TASK\" \\\n  " +
      shell_word(job.program) + " train -c " + shell_word(job.config);
  for (const std::string& override : job.overrides) {
    text += " \\\n  --set " + shell_word(override);
  }
  return text +
         " \\\n  --set train.threads=\"$SLURM_CPUS_PER_TASK\" "
         "--run-dir \"$run_dir\" --resume || status=$?\n";
}

}  // namespace

std::string slurm_script(const SlurmJob& job) {
  return header(job) + "set -eu\n\n" +
         "# Where relative paths of --set start.\ncd " +
         shell_word(job.folder) + "\n\n" +
         "# A directory of its own for each job; a restart goes on in it.\n"
         "run_dir=" +
         shell_word(job.run_dir) +
         "\"-$SLURM_JOB_ID\"\n"
         "echo \"job $SLURM_JOB_ID: $SLURM_NTASKS workers on "
         "$SLURM_JOB_NUM_NODES nodes ($SLURM_JOB_NODELIST), $run_dir\"\n\n" +
         "# A state that an earlier start has left says nothing of this "
         "one.\n"
         "rm -f \"$run_dir/state.json\"\n"
         "status=0\n" +
         command(job) +
         "\n# A run that was saved before its end, after the signal or the "
         "loss of a\n# worker, continues later. srun's exit code does not tell "
         "this.\n"
         "if grep -q '\"state\":\"saved\"' \"$run_dir/state.json\" \\\n"
         "  2>/dev/null; then\n"
         "  exec scontrol requeue \"$SLURM_JOB_ID\"\n"
         "fi\n"
         "exit \"$status\"\n";
}

std::string shell_word(std::string_view text) {
  if (is_one_of(text, "_./=:,+@%-")) return std::string(text);
  std::string word = "\"";
  for (const char c : text) {
    if (std::string_view("\"\\$`").find(c) != std::string_view::npos) {
      word += '\\';
    }
    word += c;
  }
  return word + "\"";
}

bool is_sbatch_word(std::string_view text) {
  return is_one_of(text, "_.,+@:/-");
}

std::optional<long> slurm_seconds(std::string_view time) {
  constexpr int kMostDays = 3650;
  long days = 0;
  if (const size_t dash = time.find('-'); dash != std::string_view::npos) {
    const std::optional<int> given = parse_int(time.substr(0, dash));
    if (!given || *given < 0 || *given > kMostDays) return std::nullopt;
    days = *given;
    time.remove_prefix(dash + 1);
  }
  const std::vector<std::string_view> parts = split(time, ':');
  if (parts.size() != 3) return std::nullopt;
  long seconds = days * 24;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::optional<int> part = parse_int(parts[i]);
    const int most = i == 0 ? 24 * kMostDays : 59;
    if (!part || *part < 0 || *part > most) return std::nullopt;
    if (i > 0 && parts[i].size() != 2) return std::nullopt;
    seconds = (i == 0 ? seconds : seconds * 60) + *part;
  }
  return seconds;
}

}  // namespace chimera
