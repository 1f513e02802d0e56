// chimera init: writes the files with which a run on another machine begins. So
// far this is a batch script for SLURM, made from the run.toml to train.
#include <algorithm>
#include <filesystem>
#include <memory>

#include "chimera/base/exit_codes.h"
#include "chimera/base/files.h"
#include "chimera/base/text.h"
#include "chimera/cli/commands.h"
#include "chimera/cli/slurm_script.h"
#include "chimera/config/parse.h"
#include "chimera/console/console.h"
#include "chimera/plan/run_schedule.h"

namespace chimera {
namespace {

namespace fs = std::filesystem;

// Flags as typed; empty = not given.
struct InitCommand {
  std::string what, config, output, nodes, time, partition, account, signal_s;
  std::vector<std::string> overrides;

  int run(Values& values) const;
  void read_flags(SlurmJob& job, Values& values) const;
  void read_run(SlurmJob& job, Values& values) const;
  void describe(SlurmJob& job, const RunConfig& run,
                const Schedule& schedule) const;
};

int at_least_one(const std::string& flag, const std::string& text, int absent,
                 Values& values) {
  constexpr int kMost = 65535;  // SLURM stores a signal's time in 16 bits
  const std::optional<int> given = values.integer(flag, text);
  if (!given || (*given >= 1 && *given <= kMost)) return given.value_or(absent);
  values.refuse({.code = "E403",
                 .found = flag + " " + text,
                 .needed = "must be from 1 to " + std::to_string(kMost)});
  return absent;
}

std::string sbatch_name(const std::string& flag, const std::string& text,
                        Values& values) {
  if (text.empty() || is_sbatch_word(text)) return text;
  values.refuse({.code = "E409",
                 .found = flag + " \"" + shown(text) + "\"",
                 .needed = "is not a name SLURM has"});
  return "";
}

void InitCommand::read_flags(SlurmJob& job, Values& values) const {
  job.nodes = at_least_one("--nodes", nodes, 1, values);
  job.signal_s = at_least_one("--signal-s", signal_s, job.signal_s, values);
  job.partition = sbatch_name("--partition", partition, values);
  job.account = sbatch_name("--account", account, values);
  job.time = time;
  if (time.empty()) return;
  const std::optional<long> limit = slurm_seconds(time);
  if (!limit) {
    values.refuse({.code = "E409",
                   .found = "--time \"" + shown(time) + "\"",
                   .needed = "must be HH:MM:SS or D-HH:MM:SS"});
  } else if (*limit <= job.signal_s) {
    values.refuse({.code = "E406",
                   .found = "--time " + time,
                   .needed = "must be longer than the warning before its end, "
                             "--signal-s " +
                             std::to_string(job.signal_s)});
  }
}

// Names the node counts nearest to `nodes` over which `tasks` can be divided
// evenly.
std::string near_divisors(int tasks, int nodes) {
  int below = std::min(nodes, tasks);
  while (tasks % below != 0) --below;
  int above = nodes;
  while (above < tasks && tasks % above != 0) ++above;
  const bool has_above = above > nodes && tasks % above == 0;
  return "use " + std::to_string(below) +
         (has_above ? " or " + std::to_string(above) : "");
}

void check_nodes(const SlurmJob& job, Values& values) {
  if (job.tasks % job.nodes == 0) return;
  values.refuse({.code = "E408",
                 .found = "--nodes " + std::to_string(job.nodes),
                 .needed = "must divide the " + std::to_string(job.tasks) +
                           " workers evenly",
                 .hint = near_divisors(job.tasks, job.nodes)});
}

// The job is named after the file: a/bert 48.toml gives bert_48.
std::string job_name(const std::string& config) {
  std::string name = fs::path(config).stem().string();
  for (char& c : name) {
    if (!is_sbatch_word(std::string(1, c))) c = '_';
  }
  return name;
}

void InitCommand::describe(SlurmJob& job, const RunConfig& run,
                           const Schedule& schedule) const {
  job.name = job_name(config);
  job.tasks = schedule.workers() * schedule.width;
  job.title = schedule.scheme + ": depth " + std::to_string(schedule.depth) +
              " x width " + std::to_string(schedule.width) + " = " +
              std::to_string(job.tasks) + " workers, " +
              std::to_string(schedule.micros) + " micro-batches a step.";
  job.cpus_per_task = run.train.threads.value_or(1);
  job.program = fs::read_symlink("/proc/self/exe").string();
  job.config = fs::absolute(config).lexically_normal().string();
  job.folder = fs::current_path().string();
  job.run_dir = run.run.dir.empty() ? "runs/" + job.name : run.run.dir;
  job.overrides = overrides;
}

void InitCommand::read_run(SlurmJob& job, Values& values) const {
  if (config.empty()) {
    values.refuse({.code = "E402",
                   .found = "-c",
                   .needed = "is missing; it names the run.toml",
                   .hint = "chimera init slurm -c run.toml"});
    return;
  }
  const Result<std::string> text = read_file(config);
  if (!text) return values.refuse(text.errors());
  const Result<RunConfig> run = parse_training_config(*text, config, overrides);
  if (!run) return values.refuse(run.errors());
  if (run->run.transport == TransportKind::kThreads) {
    values.refuse({.code = "E410",
                   .where = config,
                   .found = "run.transport = \"threads\"",
                   .needed = "keeps all workers in one process, but SLURM "
                             "starts one process a worker",
                   .hint = "leave it out"});
  }
  // A model from a Hugging Face directory is checked for tied embeddings by the
  // run itself. An emulated model has no embeddings.
  std::optional<bool> tied = run->model.tie_embeddings;
  if (run->model.init.empty()) tied = tied.value_or(false);
  const Result<Schedule> schedule = make_run_schedule(*run, {.tied = tied});
  if (!schedule) return values.refuse(schedule.errors());
  describe(job, *run, *schedule);
  check_nodes(job, values);
}

// Makes the file executable, like chmod +x, for everyone who may read it.
void make_executable(const std::string& path) {
  if (!fs::is_regular_file(path)) return;
  const fs::perms readable =
      fs::status(path).permissions() &
      (fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read);
  fs::permissions(path,
                  static_cast<fs::perms>(static_cast<unsigned>(readable) >> 2),
                  fs::perm_options::add);
}

int InitCommand::run(Values& values) const {
  if (what.empty()) {
    values.refuse({.code = "E402",
                   .found = "what to write",
                   .needed = "is missing",
                   .hint = "chimera init slurm -c run.toml"});
  }
  static_cast<void>(values.choice("init", what, {"slurm"}));
  SlurmJob job;
  read_flags(job, values);
  read_run(job, values);
  if (!values.errors().empty()) return print_errors(values.errors());
  write_result(slurm_script(job), output);
  if (!output.empty() && output != "-") make_executable(output);
  return kExitDone;
}

}  // namespace

void add_init_command(Command& program) {
  const auto self = std::make_shared<InitCommand>();
  Command& command = program.add_command(
      "init", "Write a SLURM batch script that trains a run.toml");
  command.add_value("what", self->what, "what to write: slurm", "slurm");
  command.add_value("-c,--config", self->config, "the run.toml; needed",
                    "FILE");
  command.add_values("--set", self->overrides,
                     "change a key of the run.toml; may be repeated",
                     "SECTION.KEY=VALUE");
  command.add_value("--nodes", self->nodes,
                    "number of nodes for the workers (default 1)", "K");
  command.add_value("--time", self->time,
                    "time limit (default: the partition's)", "[D-]HH:MM:SS");
  command.add_value("--partition", self->partition, "the queue to submit to",
                    "NAME");
  command.add_value("--account", self->account, "the account to charge",
                    "NAME");
  command.add_value(
      "--signal-s", self->signal_s,
      "seconds before the limit at which the run is told to end after its "
      "step (default 120)",
      "S");
  command.add_value("-o,--output", self->output,
                    "write to a file, and make it executable", "FILE");
  command.set_footer(
      "One process is started for each of the width x depth workers. They go\n"
      "to one node unless --nodes is given, which has to divide them evenly.\n"
      "A worker gets train.threads processors, or 1. Relative paths in the\n"
      "run.toml start at its folder, those of --set where this command was\n"
      "called. docs/cluster.md has more.\n"
      "\nExamples:\n"
      "  chimera init slurm -c run.toml --nodes 2 --time 04:00:00 -o job.sh\n"
      "  sbatch job.sh\n"
      "  chimera init slurm -c run.toml --set schedule.width=4 --nodes 4 | "
      "sbatch\n");
  command.set_work([self](Values& values) { return self->run(values); });
}

}  // namespace chimera
