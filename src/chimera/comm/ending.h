// Why a run between processes ends before its time, as every rank learns it.
#pragma once

#include <cstdint>
#include <string>

namespace chimera {

// What an exception means for the run.
struct Cause {
  int exit_code = 0;
  std::string reason;
};

struct Ending {
  int exit_code = 0;
  int origin = -1;     // the rank that found out
  std::string reason;  // of a rank that failed by itself

  int lost = -1;               // a rank that is lost; -1 = none
  bool is_dead = false;        // its process has ended; else it is only silent
  double silent_s = 0;         // for so long
  std::uint64_t progress = 0;  // how far it had come
};

}  // namespace chimera
