// chimera export: writes the weights of a run as a Hugging Face directory.
#include <filesystem>
#include <system_error>

#include "chimera/base/exit_codes.h"
#include "chimera/commands/run_config.h"
#include "chimera/commands/run_functions.h"
#include "chimera/console/console.h"
#include "chimera/console/values.h"
#include "chimera/files/hf_directory.h"
#include "chimera/files/hf_write.h"

namespace chimera {

int run_export(const RunRequest& request) {
  Values values;
  if (request.run_dir.empty()) {
    values.refuse({.code = "E402",
                   .found = "the run directory",
                   .needed = "is missing",
                   .hint = "chimera export runs/mine -o mine-hf"});
  }
  if (request.output.empty()) {
    values.refuse({.code = "E402", .found = "-o", .needed = "is missing"});
  }
  if (!values.errors().empty()) return print_errors(values.errors());
  std::error_code error;
  if (!std::filesystem::exists(request.run_dir + "/weights", error)) {
    const std::string why = error ? " (" + error.message() + ")" : "";
    return print_run_errors(
        {{.kind = DiagnosticKind::kData,
          .code = "E528",
          .where = request.run_dir,
          .found = "no weights/" + why,
          .needed = "to export",
          .hint = "it is written when a run ends; state.json says how it "
                  "went"}});
  }
  const Result<HfDirectory> weights =
      HfDirectory::open(request.run_dir + "/weights");
  if (!weights) return print_run_errors(weights.errors());
  std::vector<TensorView> views;
  for (const StoredTensor& tensor : weights->tensors()) {
    views.push_back({.name = tensor.info->name,
                     .type = tensor.info->type,
                     .shape = tensor.info->shape,
                     .data = tensor.file->data(*tensor.info)});
  }
  const Diagnostics errors =
      write_hf_directory(request.output, weights->shape(), views);
  if (!errors.empty()) return print_run_errors(errors);
  write_result(request.output + "\n", "");
  return kExitDone;
}

}  // namespace chimera
