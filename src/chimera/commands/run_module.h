// The half of the command line that computes. It needs libtorch, which takes a
// third of a second to load, so it is a library of its own that only the
// commands that compute open: drawing a schedule stays instant.
#pragma once

#include <string>
#include <vector>

namespace chimera {

// What was typed; empty = not given.
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
  // sample and eval, on the model in run_dir.
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

// The name of the one function that the library gives: RunModule (*)().
inline constexpr const char* kRunModuleEntry = "chimera_run_module";

// Opens the library, which lies beside the program or in ../lib; prints why
// not (E407) and returns nullptr otherwise.
[[nodiscard]] const RunModule* load_run_module();

}  // namespace chimera
