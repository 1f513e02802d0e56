#include "chimera/cli/run/run_config.h"

#include <unistd.h>

#include <algorithm>

#include "chimera/base/files.h"
#include "chimera/config/parse.h"
#include "chimera/console/console.h"
#include "chimera/console/exit_codes.h"

namespace chimera {

Result<RunConfig> read_run_config(const RunRequest& request) {
  if (request.config.empty()) {
    return Diagnostic{.code = "E402",
                      .found = "-c",
                      .needed = "is missing: which run.toml?",
                      .hint = "chimera train -c examples/gpt2_tiny.toml"};
  }
  const Result<std::string> text = read_file(request.config);
  if (!text) return text.errors();
  return parse_training_config(*text, request.config, request.overrides);
}

// All cores that are there, whatever this process is bound to.
Result<std::unique_ptr<RunSetup>> set_up_here(const RunConfig& config,
                                              const std::string& checkpoint,
                                              int ranks_here) {
  const long cores = std::max(1L, sysconf(_SC_NPROCESSORS_ONLN));
  return set_up(config, {.host_cores = static_cast<int>(cores),
                         .ranks_here = ranks_here,
                         .checkpoint = checkpoint});
}

int exit_code_of(const Diagnostics& errors) {
  const auto all = [&](const auto& is_kind) {
    return std::all_of(errors.begin(), errors.end(), is_kind);
  };
  // E501 to E549 are about data files and Hugging Face directories.
  if (all([](const Diagnostic& error) {
        return error.code >= "E501" && error.code < "E550";
      })) {
    return kExitData;
  }
  if (all([](const Diagnostic& error) {
        return error.code.starts_with("E58");
      })) {
    return kExitCheckpoint;
  }
  return kExitUsage;
}

int print_run_errors(const Diagnostics& errors) {
  print_errors(errors);
  return exit_code_of(errors);
}

}  // namespace chimera
