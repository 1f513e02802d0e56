// chimera verify: proves that a layout trains exactly.
#include "chimera/train/verify.h"

#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "chimera/base/exit_codes.h"
#include "chimera/commands/run_config.h"
#include "chimera/commands/run_functions.h"
#include "chimera/console/console.h"
#include "chimera/console/values.h"
#include "chimera/run/failure.h"
#include "chimera/run/launcher.h"
#include "chimera/run/setup_here.h"

namespace chimera {
namespace {

std::string report_text(const VerifyReport& report, bool asynchronous) {
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
    // Shows the worst tensor always, others only if they fail.
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
  const char* on = asynchronous ? " on weights of the past, as many updates "
                                  "behind as the scheme says"
                                : "";
  return text + fmt::format("{} to the unsplit model{}\n",
                            report.passes() ? "verified: equal" : "NOT EQUAL",
                            on);
}

}  // namespace

int run_verify(const RunRequest& request) {
  Values values;
  VerifyOptions options;
  options.steps = values.integer("--steps", request.steps).value_or(3);
  if (options.steps < 1) {
    values.refuse({.code = "E403",
                   .found = "--steps " + request.steps,
                   .needed = "must be at least 1"});
  }
  const bool wide =
      values.choice("--dtype", request.dtype, {"float32", "float64"}) == 1;
  options.dtype = wide ? at::kDouble : at::kFloat;
  if (!values.errors().empty()) return print_errors(values.errors());
  const Diagnostics several = check_single("verify", find_launcher());
  if (!several.empty()) return print_errors(several);
  const Result<RunConfig> config = read_run_config(request);
  if (!config) return print_run_errors(config.errors());
  const Result<std::unique_ptr<RunSetup>> setup = set_up_here(*config);
  if (!setup) return print_run_errors(setup.errors());
  if ((*setup)->is_emulated()) {
    return print_errors(
        {{.code = "E567",
          .found = "model.kind = \"emulated\"",
          .needed = "computes nothing that could be verified"}});
  }
  try {
    const VerifyReport report = verify(**setup, options);
    write_result(report_text(report, is_asynchronous((*setup)->schedule)), "");
    return report.passes() ? kExitDone : kExitDifference;
  } catch (const std::exception&) {
    const Failure failure = current_failure();
    std::cerr << "error: " << failure.text << '\n';
    return failure.code();
  }
}

}  // namespace chimera
