// chimera checkpoint: lists the checkpoints of a run and whether they are
// intact.
#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <memory>

#include "chimera/base/exit_codes.h"
#include "chimera/base/text.h"
#include "chimera/checkpoint/catalog.h"
#include "chimera/cli/commands.h"
#include "chimera/console/console.h"

namespace chimera {
namespace {

struct CheckpointCommand {
  std::string run_dir;
  std::string format;

  int run(Values& values, bool verify) const;
};

struct Row {
  CheckpointEntry entry;
  std::int64_t bytes = 0;
  std::int64_t samples = 0;
  Diagnostics errors;  // empty: no damage found
};

Row look_at(const CheckpointEntry& entry, bool verify) {
  Row row{.entry = entry};
  const Result<Checkpoint> opened = Checkpoint::open(entry.path);
  if (!opened) {
    row.errors = opened.errors();
    return row;
  }
  for (const ManifestFile& file : opened->manifest().files) {
    row.bytes += file.bytes;
  }
  row.samples = opened->manifest().samples;
  if (verify) row.errors = opened->verify();
  return row;
}

std::string as_text(const std::vector<Row>& rows, bool verify) {
  std::string text;
  for (const Row& row : rows) {
    const char* state = verify ? "sound" : "complete";
    text += fmt::format("{}  step {}  {} samples  {:.1f} MB  {}\n",
                        row.entry.path, row.entry.step, row.samples,
                        static_cast<double>(row.bytes) / 1e6,
                        row.errors.empty() ? state : "DAMAGED");
  }
  return rows.empty() ? "no checkpoints\n" : text;
}

std::string as_json(const std::vector<Row>& rows) {
  std::vector<std::string> items;
  for (const Row& row : rows) {
    std::vector<std::string> errors;
    for (const Diagnostic& error : row.errors) {
      errors.push_back(json_string(to_string(error)));
    }
    items.push_back(fmt::format(
        R"({{"path":{},"step":{},"samples":{},"bytes":{},"sound":{},"errors":[{}]}})",
        json_string(row.entry.path), row.entry.step, row.samples, row.bytes,
        row.errors.empty(), join(errors, ",")));
  }
  return "{\"checkpoints\":[" + join(items, ",\n") + "]}\n";
}

int CheckpointCommand::run(Values& values, bool verify) const {
  if (run_dir.empty()) {
    values.refuse({.code = "E402",
                   .found = "RUN_DIR",
                   .needed = "is missing: what `train` has written"});
  }
  const int chosen = values.choice("--format", format, {"text", "json"});
  if (!values.errors().empty()) return print_errors(values.errors());
  if (!std::filesystem::is_directory(run_dir)) {
    std::cerr << "error: there is no directory " << shown(run_dir) << '\n';
    return kExitCheckpoint;
  }
  std::vector<Row> rows;
  bool all_sound = true;
  for (const CheckpointEntry& entry : list_checkpoints(run_dir)) {
    rows.push_back(look_at(entry, verify));
    all_sound = all_sound && rows.back().errors.empty();
  }
  write_result(chosen == 1 ? as_json(rows) : as_text(rows, verify), "");
  for (const Row& row : rows) {
    if (!row.errors.empty()) print_errors(row.errors);
  }
  if (rows.empty() && verify) {
    std::cerr << "error: " << checkpoints_path(run_dir)
              << " holds no checkpoint\n";
    return kExitCheckpoint;
  }
  return all_sound ? kExitDone : kExitCheckpoint;
}

}  // namespace

void add_checkpoint_command(Command& program) {
  Command& command = program.add_command(
      "checkpoint", "List or verify the checkpoints of a run");
  command.set_footer(
      "RUN_DIR/checkpoints holds the newest run.keep checkpoints. `train\n"
      "--resume` continues from the newest valid one, under any layout. Exit\n"
      "code 4: one is damaged.\n"
      "\nExamples:\n"
      "  chimera checkpoint list runs/mine\n"
      "  chimera checkpoint verify runs/mine");
  for (const bool verify : {false, true}) {
    auto state = std::make_shared<CheckpointCommand>();
    Command& verb = command.add_command(
        verify ? "verify" : "list",
        verify ? "Read every byte and compare its hash"
               : "List steps, sizes, and whether each is complete");
    verb.add_value("run_dir", state->run_dir, "what `train` has written",
                   "RUN_DIR");
    verb.add_value("--format", state->format, "text (default) or json", "F");
    verb.set_work(
        [state, verify](Values& values) { return state->run(values, verify); });
  }
}

}  // namespace chimera
