// Why a run between processes ends before its time, as every rank learns it.
#pragma once

#include <string>

namespace chimera {

// What an exception means for the run.
struct Cause {
  int exit_code = 0;
  std::string reason;
};

struct Ending {
  int exit_code = 0;
  int origin = -1;      // the rank that found out
  int lost = -1;        // the rank that is not heard any more; -1 = none
  double silent_s = 0;  // for how long
  std::string reason;   // of a rank that failed by itself
};

}  // namespace chimera
