// The commands that compute. They need libtorch, which takes a third of a
// second to load, so they are in a separate library that only these commands
// open. Drawing a schedule thus stays instant.
#pragma once

#include <string>
#include <vector>

namespace chimera {

// Flags as typed; empty = not given.
struct RunRequest {
  std::string config;
  std::vector<std::string> overrides;
  std::string run_dir;
  std::string steps;
  std::string dtype;
  std::string output;
  bool resume = false;
  bool dry_run = false;
  std::string micro_batches;
  // For sample and eval, on the model in run_dir.
  std::string prompt;
  std::string tokens;
  std::string temperature;
  std::string top_k;
  std::string top_p;
  std::string seed;
  bool stream = false;
  std::string tokenizer;
  std::string data;
  std::string seq;
  std::string format;
};

// Every function returns the exit code.
struct RunModule {
  int (*train)(const RunRequest& request);
  int (*verify)(const RunRequest& request);
  int (*export_weights)(const RunRequest& request);
  int (*doctor)(const RunRequest& request);
  int (*calibrate)(const RunRequest& request);
  int (*sample)(const RunRequest& request);
  int (*eval)(const RunRequest& request);
};

// Name of the library's only exported function: RunModule (*)().
inline constexpr const char* kRunModuleEntry = "chimera_run_module";

// Opens the library, which is beside the program or in ../lib. On failure
// prints the reason (E407) and returns nullptr.
[[nodiscard]] const RunModule* load_run_module();

}  // namespace chimera
