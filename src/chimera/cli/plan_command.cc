// chimera plan: finds the fastest way to train a model on a number of workers.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "chimera/base/exit_codes.h"
#include "chimera/base/files.h"
#include "chimera/base/text.h"
#include "chimera/cli/commands.h"
#include "chimera/cli/model_flags.h"
#include "chimera/config/parse.h"
#include "chimera/config/paths.h"
#include "chimera/config/print.h"
#include "chimera/console/console.h"
#include "chimera/plan/builtin_profiles.h"
#include "chimera/plan/layer_costs.h"
#include "chimera/plan/plan_inputs.h"
#include "chimera/plan/plan_text.h"
#include "chimera/plan/planner.h"
#include "chimera/schedule/forms.h"

namespace chimera {
namespace {

// Flags as typed; empty = not given.
struct PlanCommand {
  std::string model, workers, batch, memory, profile, model_of, schemes,
      precision, format, output;
  NodeFlags nodes;

  int run(Values& values) const;
  [[nodiscard]] double read_memory(const Profile& machine,
                                   Values& values) const;
  [[nodiscard]] PlanHeadline headline(const PlanRequest& request) const;
  void write_run(const RunConfig& config, const Plan& plan) const;
};

int count(const std::string& flag, const std::string& text, Values& values) {
  constexpr int kMost = 1 << 20;
  const int given = values.required_integer(flag, text);
  if (given >= 1 && given <= kMost) return given;
  values.refuse({.code = "E403",
                 .found = flag + " " + shown(text),
                 .needed = "must be from 1 to " + std::to_string(kMost)});
  return 1;
}

double PlanCommand::read_memory(const Profile& machine, Values& values) const {
  if (!memory.empty()) return values.bytes("--memory", memory).value_or(1);
  if (machine.memory_bytes > 0) return machine.memory_bytes;
  values.refuse({.code = "E402",
                 .found = "--memory",
                 .needed = "is missing, and the profile has none",
                 .hint = "for example --memory 16GB"});
  return 1;
}

PlanHeadline PlanCommand::headline(const PlanRequest& request) const {
  std::string machine = request.profile.name;
  if (profile.empty()) {
    machine += " (built in, the default)";
  } else if (builtin_profile(profile)) {
    machine += " (built in)";
  }
  const LayerShape block = layers_of(request.model, request.precision)[1].shape;
  return {.model = model,
          .profile = machine,
          .block_times = describe(source_of(request.profile, block)),
          .peak_flops = builtin_peak_flops(
              profile.empty() ? kDefaultProfile : profile, request.precision)};
}

// Example: "planned.sched" for "planned.toml".
std::string order_file(const std::string& run_file) {
  constexpr std::string_view kEnding = ".toml";
  std::string stem = run_file;
  if (stem.ends_with(kEnding)) stem.resize(stem.size() - kEnding.size());
  return stem + ".sched";
}

std::vector<std::string> missing_keys(const RunConfig& config) {
  std::vector<std::string> names;
  for (const Diagnostic& missing : check_for_training(config)) {
    names.push_back(missing.found);
  }
  return names;
}

// The keys that only the user can set, as comments for the end of a run.toml.
std::string keys_to_add(const RunConfig& config) {
  const Diagnostics missing = check_for_training(config);
  if (missing.empty()) return "";
  std::string text = "\n# Before training:\n";
  for (const Diagnostic& key : missing) text += "#   " + key.hint + "\n";
  return text;
}

// Writes the run.toml and, for a planned scheme, its order. Without that file a
// run would plan an order of its own, without this profile.
void PlanCommand::write_run(const RunConfig& config, const Plan& plan) const {
  const bool to_stdout = output == "-";
  const std::string file = to_stdout ? "" : order_file(output);
  if (plan.order && to_stdout) {
    std::cerr << "note: the run will plan an order of its own; -o FILE keeps "
                 "this one\n";
  } else if (plan.order) {
    write_file(file, to_sched(*plan.order));
    std::cerr << "note: the order is in " << file << '\n';
  }
  if (config.schedule.replan_after > 0) {
    std::cerr << "note: schedule.replan_after is left out: the plan stands\n";
  }
  // Refers to the order by a plain file name, so that both files can be moved
  // together.
  const std::string name = std::filesystem::path(file).filename().string();
  const RunConfig planned =
      with_plan(with_absolute_paths(config), plan, plan.order ? name : "");
  write_result(print_run_config(planned) + keys_to_add(planned), output);
  const std::string missing = join(missing_keys(planned), ", ");
  if (!missing.empty()) {
    std::cerr << "note: before training, give " << missing << " in "
              << (to_stdout ? "it" : output) << '\n';
  }
}

int PlanCommand::run(Values& values) const {
  const RunConfig config = model_flag(model, values);
  if (config.model.kind == ModelKind::kEmulated) {
    values.refuse({.code = "E604",
                   .where = model,
                   .found = "an emulated model",
                   .needed = "cannot be planned for",
                   .hint = "give a model's shape, or a preset"});
    return print_errors(values.errors());
  }
  PlanRequest request = request_of(config);
  request.profile = profile_flag(profile, values);
  nodes.set(request.profile, values);
  request.workers = count("--workers", workers, values);
  request.batch = count("--batch", batch, values);
  request.memory_bytes = read_memory(request.profile, values);
  request.cost_model = static_cast<CostModel>(
      values.choice("--model-of", model_of, {"simulate", "paper"}));
  if (!schemes.empty()) {
    for (const std::string_view name : split(schemes, ',')) {
      request.schemes.emplace_back(trim(name));
    }
  }
  if (!precision.empty()) {
    request.precision = static_cast<Precision>(
        values.choice("--precision", precision, {"float32", "bf16"}));
  }
  const int as = values.choice("--format", format, {"text", "json"});
  if (!values.errors().empty()) return print_errors(values.errors());

  const Result<PlanReport> report = make_plans(request);
  if (!report) return print_errors(report.errors());
  if (profile.empty() && as == 1) {
    std::cerr << "note: no --profile, so p100, the paper's machine\n";
  }
  if (!output.empty()) write_run(config, report->plans[0]);
  if (output != "-") {
    write_result(as == 0 ? plan_text(headline(request), request, *report)
                         : plan_json(request, *report),
                 "");
  }
  return kExitDone;
}

}  // namespace

void add_plan_command(Command& program) {
  const auto self = std::make_shared<PlanCommand>();
  Command& command = program.add_command(
      "plan", "Find the fastest layout for a model, workers and memory");
  command.add_value("--model", self->model,
                    "a run.toml, or a preset such as gpt2-64; needed", "MODEL");
  command.add_value("--workers", self->workers,
                    "workers in all (width x depth); needed", "P");
  command.add_value("--batch", self->batch,
                    "samples of a step, of all copies; needed", "G");
  command.add_value(
      "--memory", self->memory,
      "of a worker: 16GB, 15GiB, 800MB or bytes (default: the profile's)",
      "SIZE");
  command.add_value(
      "--profile", self->profile,
      "a profile.toml, or p100 (default), v100, rtx3090, a100, h100",
      "PROFILE");
  command.add_value("--model-of", self->model_of,
                    "the cost model: simulate (default), or paper (a formula)",
                    "MODEL");
  command.add_value(
      "--schemes", self->schemes,
      "only these, separated by commas (default: all synchronous ones)",
      "LIST");
  command.add_value("--precision", self->precision,
                    "float32, bf16 (default: that of the run.toml)", "P");
  self->nodes.add_to(command);
  command.add_value("--format", self->format, "text (default), json", "FORMAT");
  command.add_value(
      "-o,--output", self->output,
      "write the best plan as a run.toml, a planned order beside it", "FILE");
  command.set_footer(
      "Examples:\n"
      "  chimera plan --model gpt2-64 --workers 2048 --batch 2048 --memory "
      "16GB\n"
      "  chimera plan --model bert-48 --workers 32 --batch 512 --memory 16GB "
      "--profile v100\n"
      "  chimera plan --model llama-8b --workers 64 --batch 512 --profile h100 "
      "--ranks-per-node 8\n"
      "  chimera plan --model run.toml --workers 8 --batch 64 --memory 24GB "
      "-o planned.toml\n"
      "  chimera plan --model bert-48 --workers 32 --batch 512 --schemes "
      "chimera,pipedream-2bw\n");
  command.set_work([self](Values& values) { return self->run(values); });
}

}  // namespace chimera
