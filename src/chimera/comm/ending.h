// Why a run between processes ends before its time, as every rank learns it.
#pragma once

#include <cstdint>
#include <string>

namespace chimera {

// What an exception means for the run.
struct Cause {
  int exit_code = 0;
  std::string reason;
  // Whether the other ranks' weights are worth saving without this rank.
  bool can_recover = true;
};

struct Ending {
  int exit_code = 0;
  int origin = -1;     // the rank that found out
  std::string reason;  // of a rank that failed by itself

  // The rank that the others go on without; -1 = none. It is `origin` if that
  // rank has failed and says so itself.
  int lost = -1;
  bool is_dead = false;        // its process has ended; else it is only silent
  double silent_s = 0;         // for so long
  std::uint64_t progress = 0;  // how far it had come

  [[nodiscard]] bool is_self_reported() const {
    return lost >= 0 && lost == origin;
  }
};

}  // namespace chimera
