// Trains what a run.toml describes, as `chimera train` does, and follows it. In
// threads, or with one process per worker under mpirun: the same program, the
// same bits. The run directory gets config.toml, metrics.jsonl, state.json,
// checkpoints/ and weights/.
//
//   cmake -B build -DCMAKE_PREFIX_PATH=<where Chimera is installed>
//   cmake --build build
//   build/follow_a_run run.toml runs/a
//   build/follow_a_run run.toml runs/a --resume
//   mpirun -n 4 build/follow_a_run run.toml runs/b
#include <cstdio>
#include <fstream>
#include <sstream>

#include "chimera/config/parse.h"
#include "chimera/run/run.h"

namespace {

class Printer final : public chimera::RunObserver {
 public:
  void on_start(const chimera::RunStart& start) override {
    std::printf("%s\n", describe(start).c_str());
  }
  void on_step(const chimera::StepReport& report) override {
    std::printf("step %d: loss %.6f, %.0f tokens/s\n", report.step, report.loss,
                report.tokens_per_s);
  }
  void on_save(const chimera::SaveResult& save) override {
    std::printf("saved %s\n", save.path.c_str());
  }
  void say(const std::string& lines) override {
    std::fprintf(stderr, "%s\n", lines.c_str());
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: follow_a_run RUN.toml RUN_DIR [--resume]\n");
    return chimera::kExitUsage;
  }
  std::ostringstream text;
  text << std::ifstream(argv[1]).rdbuf();
  chimera::Result<chimera::RunConfig> config = chimera::parse_training_config(
      text.str(), argv[1], {std::string("run.dir=") + argv[2]});
  Printer printer;
  const bool resume = argc > 3 && std::string(argv[3]) == "--resume";
  return chimera::run(config, {.resume = resume}, printer).code;
}
