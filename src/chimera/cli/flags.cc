#include "chimera/cli/flags.h"

namespace chimera {
namespace {

const char* kLayout = "Layout";
const char* kLowering = "Lowering";
const char* kTimes =
    "Times (in any unit, of one D-th of the model; a chunk takes 1/chunks)";

}  // namespace

void ScheduleFlags::add_to(Command& command) {
  command.add_value("scheme", scheme,
                    "a scheme (`chimera schemes` lists them), or a schedule's "
                    "file; - reads standard input",
                    "SCHEME|FILE");
  command.add_value("--depth", depth, "workers in the pipeline (D)", "D",
                    kLayout);
  command.add_value("--micros", micros, "micro-batches a step (N)", "N",
                    kLayout);
  command.add_value(
      "--pipes", pipes,
      "pipes over the same workers (chimera: 2, 4, ...; default 2)", "P",
      kLayout);
  command.add_value(
      "--scale", scale,
      "how chimera goes beyond N = D: direct (default), doubling, halving",
      "MODE", kLayout);
  command.add_value("--chunks", chunks, "stages of one pipe per worker", "V",
                    kLayout);
  command.add_value(
      "--shape", shape,
      "how a pipe's stages lie on the workers: linear, loop, vee, wave",
      "SHAPE", kLayout);
  command.add_value("--width", width, "data-parallel copies (default 1)", "W",
                    kLayout);
  command.add_value(
      "--cap", cap,
      "the most activations a worker may hold, in D-ths, or with a profile "
      "their bytes, such as 12GB (planned: default D; others are refused above "
      "it)",
      "A", kLayout);
  command.add_value("--omega", omega,
                    "the share of an activation that is held between the end "
                    "of I and the end of W (default 1; with a profile: the "
                    "model's)",
                    "W", kLayout);
  command.add_value("--effort", effort,
                    "planned: how many times as many orders to try (default 1)",
                    "E", kLayout);
  command.add_value("--sync", sync,
                    "when gradient sums start: eager-opt (default), eager, "
                    "end; as other systems do: ddp (a stage's last backward "
                    "sends after its sum), blocking (one after the other)",
                    "MODE", kLowering);
  command.add_choice("--recompute", recompute, {"early", "late"},
                     "recompute each forward before its backward, while the "
                     "gradient is on its way or (late) once it is there",
                     kLowering);
  command.add_switch("--tied", tied, "first and last stage share a weight",
                     kLowering);
}

void TimeFlags::add_to(Command& command) {
  const auto option = [&](const char* flag, std::string& value,
                          const char* help) {
    command.add_value(flag, value, help, "T", kTimes);
  };
  option("--forward", forward, "a forward (default 1)");
  option("--backward", backward, "a whole backward (default 2)");
  option("--weight-grad", weight_grad,
         "its weight half (default half of --backward)");
  option("--p2p", p2p, "latency of every message between workers (default 0)");
  option("--allreduce", allreduce,
         "one stage's gradient sum (default 0; free with a single holder)");
}

}  // namespace chimera
