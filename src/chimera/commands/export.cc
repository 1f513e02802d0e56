// chimera export: writes the weights of a run as a Hugging Face directory.
#include <filesystem>
#include <system_error>

#include "chimera/base/exit_codes.h"
#include "chimera/commands/model_source.h"
#include "chimera/commands/run_config.h"
#include "chimera/commands/run_functions.h"
#include "chimera/console/console.h"
#include "chimera/console/values.h"
#include "chimera/files/hf_directory.h"
#include "chimera/files/hf_write.h"
#include "chimera/tokenizer/exported_files.h"

namespace chimera {
namespace {

// The files of the run's tokenizer; none if it is unknown, or is bytes.
Result<std::vector<HfExtraFile>> tokenizer_of(const RunRequest& request) {
  const Result<ModelSource> source = find_model(request.run_dir);
  if (!source) return source.errors();
  const auto path = known_tokenizer(*source, request.tokenizer);
  std::vector<HfExtraFile> extra;
  if (!path || *path == "bytes") return extra;
  const Result<std::vector<ExportedFile>> files = exported_files(*path);
  if (!files) return files.errors();
  for (const ExportedFile& file : *files) {
    extra.push_back({file.name, file.text});
  }
  return extra;
}

}  // namespace

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
  const Result<std::vector<HfExtraFile>> tokenizer = tokenizer_of(request);
  if (!tokenizer) return print_run_errors(tokenizer.errors());
  const Diagnostics errors = write_hf_directory(
      request.output, weights->shape(), views, {.extra = *tokenizer});
  if (!errors.empty()) return print_run_errors(errors);
  write_result(request.output + "\n", "");
  return kExitDone;
}

}  // namespace chimera
