// A run directory in a temporary folder, with the files that a test asks for.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "chimera/schedule/forms.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/scheme.h"
#include "chimera/simulate/simulate.h"
#include "chimera/trace/chrome.h"

namespace chimera::testing {

class TestRun {
 public:
  explicit TestRun(const std::string& name = "run")
      : root_(std::filesystem::temp_directory_path() /
              ("page_test_" + std::to_string(getpid()) + "_" + name)),
        path_(root_ / name) {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(path_);
  }
  TestRun(const TestRun&) = delete;
  TestRun& operator=(const TestRun&) = delete;
  ~TestRun() { std::filesystem::remove_all(root_); }

  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] std::string file(const std::string& name) const {
    return (path_ / name).string();
  }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
  }
  void append(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::app) << text;
  }

  // Writes the config of a small GPT-2 on four workers.
  void write_config() const {
    write("config.toml", R"([model]
kind = "gpt2"
layers = 6
hidden = 64
heads = 4
vocab = 256
seq = 32
[schedule]
scheme = "chimera"
depth = 4
micros = 4
micro_batch = 2
[train]
steps = 100
lr = 0.001
[data]
path = "some text.txt"
)");
  }
  static Schedule schedule() {
    return lower(
        make_schedule({.scheme = "chimera", .depth = 4, .micros = 4}).value(),
        {.tied = true});
  }
  void write_schedule() const { write("schedule.sched", to_sched(schedule())); }
  void write_trace(int steps) const {
    const Schedule lowered = schedule();
    std::ofstream out(file("trace.json"));
    write_chrome_trace(
        simulate(lowered, uniform_costs(lowered, {}), {.steps = steps}).trace,
        1e6, out);
  }
  void add_steps(int from, int to) const {
    for (int step = from; step <= to; ++step) {
      append("metrics.jsonl",
             "{\"step\":" + std::to_string(step) +
                 ",\"loss\":" + std::to_string(5.0 / step) +
                 ",\"tokens\":256,\"step_s\":0.25,\"bubble\":0.25}\n");
    }
  }

 private:
  std::filesystem::path root_;
  std::filesystem::path path_;
};

}  // namespace chimera::testing
