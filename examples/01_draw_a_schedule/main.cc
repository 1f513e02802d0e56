// Makes a schedule, proves it, plays it through and draws it. No torch.
//
//   cmake -B build -DCMAKE_PREFIX_PATH=<where Chimera is installed>
//   cmake --build build && build/draw_a_schedule
//
// Expected output:
//   t  0     2     4     6     8     10    12    14    16
//   P0 F0 F1 .. F2 B2 -- F3 B3 -- .. B0 -- .. .. B1 --
//   P1 .. F0 F2 F1 F3 .. B2 -- B0 -- B3 -- B1 -- .. ..
//   P2 .. F2 F0 F3 F1 .. B0 -- B2 -- B1 -- B3 -- .. ..
//   P3 F2 F3 .. F0 B0 -- F1 B1 -- .. B2 -- .. .. B3 --
//   F forward  B backward  -- goes on  .. idle
//   pipe 0: P0 to P3, micros 0-1; pipe 1: P3 to P0, micros 2-3
//   takes 16, idle 25 %
#include <iostream>

#include "chimera/report/text.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/scheme.h"
#include "chimera/schedule/validate.h"
#include "chimera/simulate/simulate.h"

int main() {
  const auto made =
      chimera::make_schedule({.scheme = "chimera", .depth = 4, .micros = 4});
  if (!made) {  // every reason why not, such as micros = 0
    for (const auto& error : made.errors()) std::cerr << to_string(error);
    return 2;
  }
  // Adds messages, gradient sums and updates: what a worker really walks.
  const chimera::Schedule lowered = chimera::lower(*made);
  if (!chimera::validate(lowered).empty()) return 1;

  const chimera::Costs costs =
      chimera::uniform_costs(lowered, {.forward = 1, .backward = 2});
  const chimera::Simulation run = chimera::simulate(lowered, costs);
  std::cout << chimera::draw_text(run.trace) << "takes " << run.makespan
            << ", idle " << 100 * run.bubble_ratio << " %\n";
}
