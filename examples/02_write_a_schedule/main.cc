// Orders of one's own, as text: which of them run, and how long each takes.
// docs/schedule-format.md has the grammar; `chimera check` does this for files.
//
//   cmake -B build -DCMAKE_PREFIX_PATH=<where Chimera is installed>
//   cmake --build build && build/write_a_schedule
//
// Expected output:
//   all-forwards-first: takes 12, worker 0 holds 3 micro-batches
//   one-by-one: takes 12, worker 0 holds 2 micro-batches
//   error[E303] worker 0: 0B2 is missing
#include <iostream>
#include <string>

#include "chimera/schedule/forms.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/validate.h"
#include "chimera/simulate/simulate.h"

namespace {

// Two workers, one stage each, three micro-batches; 1B0 = stage 1, backward of
// micro-batch 0.
void judge(const std::string& name, const std::string& first_worker,
           const std::string& second_worker) {
  const auto schedule = chimera::parse_schedule(
      "chimera-schedule-1\nscheme " + name +
          "\ndepth 2\nmicros 3\nwidth 1\nparts 1\npipe 0: 0 1\n" +
          "worker 0: " + first_worker + "\nworker 1: " + second_worker + "\n",
      name);
  const chimera::Diagnostics wrong =
      schedule ? to_diagnostics(validate(*schedule)) : schedule.errors();
  for (const auto& error : wrong) std::cout << to_string(error) << '\n';
  if (!wrong.empty()) return;
  const chimera::Schedule lowered = chimera::lower(*schedule);
  const auto costs = chimera::uniform_costs(lowered, {.backward = 2});
  const chimera::Simulation run = chimera::simulate(lowered, costs);
  std::cout << name << ": takes " << run.makespan << ", worker 0 holds "
            << run.workers[0].peak_activations << " micro-batches\n";
}

}  // namespace

int main() {
  judge("all-forwards-first", "0F0 0F1 0F2 0B0 0B1 0B2",
        "1F0 1F1 1F2 1B0 1B1 1B2");
  judge("one-by-one", "0F0 0F1 0B0 0F2 0B1 0B2", "1F0 1B0 1F1 1B1 1F2 1B2");
  judge("forgetful", "0F0 0F1 0B0 0F2 0B1", "1F0 1B0 1F1 1B1 1F2 1B2");
}
