#include "chimera/run/run_directory.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>

#include "chimera/base/files.h"
#include "chimera/base/text.h"
#include "chimera/checkpoint/catalog.h"
#include "chimera/config/paths.h"
#include "chimera/config/print.h"
#include "chimera/files/hf_write.h"

namespace chimera {
namespace {

// JSON has no NaN or infinity.
std::string json_number(double value) {
  return std::isfinite(value) ? fmt::format("{:.9g}", value) : "null";
}

// Bytes of the lines of metrics.jsonl up to this step. The last line may be
// truncated.
std::uintmax_t bytes_until(std::istream& metrics, int steps_done) {
  std::uintmax_t bytes = 0;
  for (std::string line; std::getline(metrics, line) && !metrics.eof();) {
    int step = 0;
    if (std::sscanf(line.c_str(), "{\"step\":%d,", &step) != 1) break;
    if (step > steps_done) break;
    bytes += line.size() + 1;
  }
  return bytes;
}

// Truncates in place; no copy is kept.
void drop_metrics_after(const std::string& path, int steps_done) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::status(path, error).type() == fs::file_type::not_found) return;
  std::ifstream metrics(path, std::ios::binary);
  const std::uintmax_t kept = bytes_until(metrics, steps_done);
  if (!metrics.is_open() || metrics.bad()) {
    throw IoError("cannot read " + path);
  }
  fs::resize_file(path, kept, error);
  if (error) throw IoError("cannot cut " + path + ": " + error.message());
}

// E566 if `path` holds a run.
std::optional<Diagnostic> find_run(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (const char* name : {"metrics.jsonl", "config.toml", "state.json",
                           "trace.json", "weights", "checkpoints"}) {
    if (!fs::exists(fs::path(path) / name, error)) continue;
    return Diagnostic{.code = "E566",
                      .where = path,
                      .found = std::string(name) + " is there already",
                      .needed = "and a run is never overwritten",
                      .hint = list_checkpoints(path).empty()
                                  ? "it has no checkpoint to go on from: name "
                                    "another --run-dir, or remove it"
                                  : "go on in it with --resume, or name "
                                    "another --run-dir"};
  }
  return std::nullopt;
}

}  // namespace

Diagnostics check_run_directory(const std::string& path) {
  namespace fs = std::filesystem;
  if (const std::optional<Diagnostic> run = find_run(path)) return {*run};
  std::error_code error;
  fs::path there = fs::absolute(path);
  while (!fs::exists(there, error) && there.has_relative_path()) {
    there = there.parent_path();
  }
  if (fs::is_directory(there, error) && access(there.c_str(), W_OK) == 0) {
    return {};
  }
  return {{.code = "E576",
           .where = path,
           .found = "the run directory",
           .needed = "cannot be written: " + there.string() +
                     " is not a directory that this user may write to",
           .hint = "choose another with --run-dir"}};
}

const char* state_of(ExitCode code) {
  if (code == kExitSaved) return "saved";
  if (code == kExitInterrupted) return "interrupted";
  return code == kExitDone ? "done" : "failed";
}

void write_state(const std::string& path, const RunState& state) {
  write_file(
      path + "/state.json",
      fmt::format("{{\"state\":{},\"step\":{},\"exit\":{}}}\n",
                  json_string(state.state), state.step, state.exit_code));
}

void add_event(const std::string& path, int step, const std::string& kind,
               const std::string& text) {
  AppendFile(path + "/events.jsonl")
      .append(fmt::format("{{\"step\":{},\"kind\":{},\"text\":{}}}\n", step,
                          json_string(kind), json_string(text)));
}

Result<RunDirectory> RunDirectory::create(const std::string& path,
                                          const RunConfig& config) {
  // Checked before anything is created, and again under the lock.
  if (const std::optional<Diagnostic> run = find_run(path)) return *run;
  const Result<RunDirectoryLockPtr> lock = lock_run_directory(path);
  if (!lock) return lock.errors();
  if (const std::optional<Diagnostic> run = find_run(path)) return *run;
  write_file(path + "/config.toml",
             print_run_config(with_absolute_paths(config)));
  RunDirectory directory(*lock);
  directory.write_state("running", 0, 0);
  return directory;
}

RunDirectory RunDirectory::resume(RunDirectoryLockPtr lock,
                                  const RunConfig& config, int steps_done) {
  const std::string& path = lock->path();
  write_file(path + "/config.toml",
             print_run_config(with_absolute_paths(config)));
  drop_metrics_after(path + "/metrics.jsonl", steps_done);
  RunDirectory directory(std::move(lock));
  directory.write_state("running", steps_done, 0);
  return directory;
}

void RunDirectory::add_metrics(const StepReport& report) {
  std::string line = fmt::format(
      "{{\"step\":{},\"loss\":{},\"grad_norm\":{},\"lr\":{},\"tokens\":{},"
      "\"tokens_per_s\":{},\"step_s\":{},\"bubble\":{},\"mfu\":{}",
      report.step, json_number(report.loss), json_number(report.grad_norm),
      json_number(report.lr), report.tokens, json_number(report.tokens_per_s),
      json_number(report.step_s), json_number(report.bubble),
      report.mfu > 0 ? json_number(report.mfu) : "null");
  if (report.evaluation_loss) {
    line += ",\"eval_loss\":" + json_number(*report.evaluation_loss);
  }
  if (report.skipped) line += ",\"skipped\":true";
  if (report.redone) line += ",\"redone\":true";
  constexpr std::size_t kMost = 64 << 20;  // kept while the disk is full
  if (unwritten_metrics_.size() > kMost) unwritten_metrics_.clear();
  unwritten_metrics_ += line + "}\n";
  metrics_.append(unwritten_metrics_);
  unwritten_metrics_.clear();
}

bool RunDirectory::was_ended() const {
  const Result<std::string> text = read_file(file("state.json"));
  return text && text->find("\"running\"") == std::string::npos &&
         text->find("\"exit\":130}") == std::string::npos;
}

void write_weights(const std::string& path, const HfShape& shape,
                   WeightReader& weights) {
  std::vector<TensorView> views;
  at::Tensor loaded;  // the tensor being written
  const std::vector<ParameterSpec>& parameters = weights.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto load = [&, i]() -> std::span<const std::byte> {
      loaded = weights.read(i);
      return {static_cast<const std::byte*>(loaded.const_data_ptr()),
              loaded.nbytes()};
    };
    views.push_back({.name = parameters[i].name,
                     .type = TensorType::kF32,
                     .shape = parameters[i].shape,
                     .load = load});
  }
  const Diagnostics errors = write_hf_directory(path, shape, views);
  if (!errors.empty()) throw IoError(to_string(errors[0]));
}

void RunDirectory::write_weights(const HfShape& shape,
                                 WeightReader& weights) const {
  namespace fs = std::filesystem;
  const std::string fresh = file("weights.new");
  const std::string old = file("weights.old");
  try {
    fs::remove_all(fresh);
    chimera::write_weights(fresh, shape, weights);
    if (fs::exists(file("weights"))) {
      fs::remove_all(old);
      fs::rename(file("weights"), old);
    }
    fs::rename(fresh, file("weights"));
    sync_directory(path());
    fs::remove_all(old);
  } catch (const fs::filesystem_error& error) {
    throw IoError(std::string("cannot write weights: ") + error.what());
  }
}

}  // namespace chimera
