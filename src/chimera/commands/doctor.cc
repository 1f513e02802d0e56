// chimera doctor: tries out what this machine and build can do.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/headeronly/version.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <memory>

#include "chimera/base/exit_codes.h"
#include "chimera/base/files.h"
#include "chimera/commands/run_functions.h"
#include "chimera/console/console.h"
#include "chimera/exec/emulated.h"
#include "chimera/exec/run_threads.h"
#include "chimera/exec/worker.h"
#include "chimera/model/bf16_products.h"
#include "chimera/run/cores.h"
#include "chimera/run/ranks.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/scheme.h"
#include "chimera/train/peak_flops.h"

namespace chimera {
namespace {

std::string mpi_text() {
  const std::string library = mpi_library();
  return library.empty() ? "no MPI in this build"
                         : "processes by " + library + " (mpirun, srun)";
}

// Products of bf16 matrices against those of float32.
std::string bf16_text(double float32_flops) {
  const double flops = measure_peak_flops(Precision::kBf16);
  return fmt::format(
      "bf16       {:.0f} GFLOP/s on all cores, {:.1f} x sgemm{}\n", flops / 1e9,
      flops / float32_flops,
      has_bf16_products() ? ""
                          : "; no instructions for bf16 matrix products here: "
                            "train.precision = \"bf16\" runs, but slowly");
}

std::string facts() {
  const double memory_gb = static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                           static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e9;
  const int cores = usable_cores();
  const double float32_flops = measure_peak_flops(Precision::kFloat32);
  std::string text = fmt::format(
      "chimera    {}\ncompiler   {}\nlibtorch   {}\ncores      {}\n"
      "memory     {:.1f} GB\nsgemm      {:.0f} GFLOP/s on all cores\n",
      CHIMERA_VERSION, __VERSION__, TORCH_VERSION, cores, memory_gb,
      float32_flops / 1e9);
  text += bf16_text(float32_flops);
  text += "transport  threads of one process; " + mpi_text() + "\n";
  text += "devices    CPU (no other has been tested)\n";
  return text;
}

// Runs four workers of Chimera on the real runtime.
void try_runtime() {
  const Schedule lowered = lower(
      make_schedule({.scheme = "chimera", .depth = 4, .micros = 4}).value());
  const std::vector<EmulatedStage> stages(4);
  run_workers(
      {.ranks = 4, .deadline = std::chrono::seconds(10)},
      [&](int) { return make_emulated(lowered, stages); },
      [&](Transport& transport, StageCompute& compute) {
        Worker worker(transport, compute, {});
        worker.run(Program(lowered, transport.rank()), {.end = 3});
      });
}

void try_autograd() {
  const at::Tensor x = at::ones({4}).requires_grad_(true);
  (x * x).sum().backward();
  if (!at::equal(x.grad(), at::full({4}, 2.0F))) {
    throw std::runtime_error("libtorch gives a wrong gradient");
  }
}

void try_writing() {
  std::string name = "chimera-doctor.XXXXXX";
  const int descriptor = mkstemp(name.data());
  if (descriptor < 0) throw IoError("cannot write in this directory");
  close(descriptor);
  unlink(name.c_str());
}

}  // namespace

int run_doctor(const RunRequest& /*request*/) {
  std::string text = facts();
  bool well = true;
  const auto attempt = [&](const char* what,
                           const std::function<void()>& work) {
    try {
      work();
      text += fmt::format("ok         {}\n", what);
    } catch (const std::exception& error) {
      text += fmt::format("FAILED     {}: {}\n", what, error.what());
      well = false;
    }
  };
  attempt("libtorch computes gradients", try_autograd);
  attempt("four workers run Chimera", try_runtime);
  attempt("the working directory can be written", try_writing);
  write_result(text, "");
  return well ? kExitDone : kExitUsage;
}

}  // namespace chimera
