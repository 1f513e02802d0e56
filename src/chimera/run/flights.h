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
  // Recorders of ranks first to first + count - 1.
  Flights(int first, int count);

  [[nodiscard]] FlightRecorder* at(int rank) {
    return recorders_[rank - first_].get();
  }

  // Writes each rank's file, headed by its name and `reason`. Never throws,
  // because it is called while a run fails.
  void write(const std::string& run_directory,
             const std::vector<std::string>& rank_names,
             const std::string& reason) const noexcept;

 private:
  int first_;
  std::vector<std::unique_ptr<FlightRecorder>> recorders_;
};

}  // namespace chimera
