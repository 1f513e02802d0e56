// The flight recorders of all ranks of this process, and their files in the run
// directory: flight/rank_3.txt.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "chimera/exec/flight_recorder.h"

namespace chimera {

class Flights {
 public:
  // Of ranks first .. first + count - 1.
  Flights(int first, int count);

  [[nodiscard]] FlightRecorder* at(int rank) {
    return recorders_[rank - first_].get();
  }

  // Each rank's file, headed by its name and `reason`. Never throws: it is
  // called when all is lost anyway, or by the way.
  void write(const std::string& run_directory,
             const std::vector<std::string>& rank_names,
             const std::string& reason) const noexcept;

 private:
  int first_;
  std::vector<std::unique_ptr<FlightRecorder>> recorders_;
};

}  // namespace chimera
