// chimera export: the weights of a run as a Hugging Face directory.
#include <iostream>
#include <memory>

#include "chimera/cli/commands.h"
#include "chimera/cli/console.h"
#include "chimera/cli/exit_codes.h"
#include "chimera/cli/flags.h"
#include "chimera/cli/run/run_flags.h"
#include "chimera/model/hf_directory.h"
#include "chimera/model/hf_write.h"

namespace chimera {
namespace {

struct ExportCommand {
  std::string run_dir;
  std::string out;

  int run(const CLI::App& command) const;
};

int ExportCommand::run(const CLI::App& command) const {
  Values values;
  refuse_unknown(command, values);
  if (run_dir.empty()) {
    values.refuse({.code = "E402",
                   .found = "the run directory",
                   .needed = "is missing",
                   .hint = "chimera export runs/mine -o mine-hf"});
  }
  if (out.empty()) {
    values.refuse({.code = "E402", .found = "-o", .needed = "is missing"});
  }
  if (!values.errors().empty()) return print_errors(values.errors());
  const Result<HfDirectory> weights = HfDirectory::open(run_dir + "/weights");
  if (!weights) return print_run_errors(weights.errors());
  std::vector<TensorView> views;
  for (const StoredTensor& tensor : weights->tensors()) {
    views.push_back({.name = tensor.info->name,
                     .type = tensor.info->type,
                     .shape = tensor.info->shape,
                     .data = tensor.file->data(*tensor.info)});
  }
  const Diagnostics errors = write_hf_directory(out, weights->shape(), views);
  if (!errors.empty()) return print_run_errors(errors);
  write_result(out + "\n", "");
  return kExitDone;
}

}  // namespace

void add_export_command(CLI::App& app, int& exit_code) {
  auto state = std::make_shared<ExportCommand>();
  CLI::App* command = app.add_subcommand(
      "export", "write a run's weights as a Hugging Face directory");
  command->allow_extras();
  command->add_option("run_dir", state->run_dir, "what `train` has written")
      ->type_name("RUN_DIR");
  command->add_option("-o,--output", state->out, "a directory to be made")
      ->type_name("HF_DIR");
  command->footer(
      "transformers reads it: GPT2LMHeadModel.from_pretrained(HF_DIR) or\n"
      "BertForPreTraining.from_pretrained(HF_DIR).\n"
      "\nExample:\n"
      "  chimera export runs/mine -o mine-hf");
  command->callback(
      [state, command, &exit_code] { exit_code = state->run(*command); });
}

}  // namespace chimera
