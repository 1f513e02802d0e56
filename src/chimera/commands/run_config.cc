#include "chimera/commands/run_config.h"

#include "chimera/base/exit_codes.h"
#include "chimera/base/files.h"
#include "chimera/config/parse.h"
#include "chimera/console/console.h"
#include "chimera/run/failure.h"

namespace chimera {

Result<RunConfig> read_run_config(const RunRequest& request) {
  if (request.config.empty()) {
    return Diagnostic{.code = "E402",
                      .found = "-c",
                      .needed = "is missing; it names the run.toml",
                      .hint = "for example -c examples/gpt2_tiny.toml"};
  }
  const Result<std::string> text = read_file(request.config);
  if (!text) return text.errors();
  return parse_training_config(*text, request.config, request.overrides);
}

int print_run_errors(const Diagnostics& errors) {
  print_errors(errors);
  return exit_code_of(errors);
}

}  // namespace chimera
