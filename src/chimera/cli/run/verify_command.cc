// chimera verify: prove that a layout trains exactly.
#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "chimera/cli/commands.h"
#include "chimera/cli/console.h"
#include "chimera/cli/exit_codes.h"
#include "chimera/cli/flags.h"
#include "chimera/cli/run/run_flags.h"
#include "chimera/comm/comm_error.h"
#include "chimera/train/verify.h"

namespace chimera {
namespace {

struct VerifyCommand {
  RunFlags flags;
  std::string steps;
  std::string dtype;

  int run(const CLI::App& command) const;
};

std::string report_text(const VerifyReport& report) {
  std::string text;
  for (std::size_t step = 0; step < report.losses.size(); ++step) {
    const LossCheck& loss = report.losses[step];
    text +=
        fmt::format("step {}: loss {:.9g}, unsplit {:.9g}{}\n", step + 1,
                    loss.loss, loss.reference, loss.passes ? "" : "  DIFFERS");
  }
  constexpr std::size_t kMost = 10;
  for (std::size_t i = 0; i < report.checks.size() && i < kMost; ++i) {
    const TensorCheck& check = report.checks[i];
    // The worst one always, others only if they fail.
    if (i > 0 && check.passes()) break;
    text += fmt::format(
        "{} {} (step {}): differs by {:.3g}, allowed {:.3g}, largest gradient "
        "{:.3g}\n",
        check.passes() ? "worst tensor" : "DIFFERS:", check.name, check.step,
        check.difference, check.allowed, check.largest);
  }
  for (const std::string& name : report.unequal_replicas) {
    text += "REPLICAS DIFFER: " + name + "\n";
  }
  return text + (report.passes() ? "verified: equal to the unsplit model\n"
                                 : "NOT EQUAL to the unsplit model\n");
}

Diagnostics check_verifiable(const RunSetup& setup) {
  Diagnostics errors;
  if (setup.is_emulated()) {
    errors.push_back({.code = "E567",
                      .found = "model.kind = \"emulated\"",
                      .needed = "computes nothing that could be verified"});
  }
  if (is_asynchronous(setup.schedule)) {
    errors.push_back(
        {.code = "E567",
         .found = "scheme " + setup.schedule.scheme,
         .needed = "trains on stale weights: it does not equal the unsplit "
                   "model",
         .hint = "take a synchronous scheme"});
  }
  return errors;
}

int VerifyCommand::run(const CLI::App& command) const {
  Values values;
  refuse_unknown(command, values);
  VerifyOptions options;
  options.steps = values.integer("--steps", steps).value_or(3);
  if (options.steps < 1) {
    values.refuse({.code = "E403",
                   .found = "--steps " + steps,
                   .needed = "must be at least 1"});
  }
  const bool wide =
      values.choice("--dtype", dtype, {"float32", "float64"}) == 1;
  options.dtype = wide ? at::kDouble : at::kFloat;
  const Result<RunConfig> config = flags.read(values);
  if (!config) return print_run_errors(config.errors());
  const Result<std::unique_ptr<RunSetup>> setup = set_up_here(*config);
  if (!setup) return print_run_errors(setup.errors());
  const Diagnostics errors = check_verifiable(**setup);
  if (!errors.empty()) return print_run_errors(errors);
  try {
    const VerifyReport report = verify(**setup, options);
    write_result(report_text(report), "");
    return report.passes() ? kExitDone : kExitDifference;
  } catch (const TimeoutError& error) {
    std::cerr << "error: " << error.what() << '\n';
    return kExitTimeout;
  }
}

}  // namespace

void add_verify_command(CLI::App& app, int& exit_code) {
  auto state = std::make_shared<VerifyCommand>();
  CLI::App* command = app.add_subcommand(
      "verify", "prove that a layout trains exactly as the unsplit model");
  command->allow_extras();
  state->flags.add_to(*command);
  command->add_option("--steps", state->steps, "how many (default 3)")
      ->type_name("K");
  command->add_option("--dtype", state->dtype, "float32 (default) or float64")
      ->type_name("T");
  command->footer(
      "Loss and gradients of every step are compared with the unsplit model's\n"
      "on the same weights and samples, tensor by tensor, and replicas of a\n"
      "stage bit by bit. Exit code 0: equal; 1: not.\n"
      "\nExample:\n"
      "  chimera verify -c examples/gpt2_tiny.toml --dtype float64");
  command->callback(
      [state, command, &exit_code] { exit_code = state->run(*command); });
}

}  // namespace chimera
