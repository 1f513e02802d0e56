// Lets the surviving ranks save the run after one of them is lost. They
// communicate only through the run directory, because MPI can hang inside any
// call once a peer is dead.
//
//   RUN_DIR/checkpoints/.recovery/rank-0003          what rank 3 knows
//   RUN_DIR/checkpoints/.step-00000012.recovering    their parts
//
// Updates wait for the vote of all ranks. If one of the ranks has read the vote
// of a step, then all had added up its gradients, and all can finish its
// updates; if none has, none has updated.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "chimera/checkpoint/parts.h"
#include "chimera/comm/ballot.h"

namespace chimera {

// What one surviving rank knows of the run.
struct SurvivorReport {
  int steps = 0;  // number of steps whose votes it has read
  Ballot vote;    // the last vote it has read
};

// All of `ranks` ranks except `rank`, ascending.
[[nodiscard]] std::vector<int> all_but(int rank, int ranks);

class Recovery {
 public:
  struct Options {
    std::string run_dir;
    int rank = 0;
    std::vector<int> survivors;  // ascending, including this rank
    int keep = 1;
    // Longest wait for a survivor that gives no sign of life. A survivor that
    // writes gives signs, so a slow disk may take longer.
    std::chrono::duration<double> patience{60};
  };
  explicit Recovery(Options options) : options_(std::move(options)) {}

  // Returns the report of the survivor that has come furthest. Throws IoError,
  // also if a survivor does not report in time or is lost too.
  [[nodiscard]] SurvivorReport agree(const SurvivorReport& mine) const;

  // Tells the others not to wait for this rank, which has failed too. Called
  // instead of agree().
  void withdraw() const;

  // Waits until the survivors have saved the run, and returns the steps done.
  // Called by the lost rank if its process still lives. Throws IoError as
  // agree() does, and if the survivors take too long.
  [[nodiscard]] int wait_for_survivors() const;

  // Writes this rank's part; the first survivor commits. Returns the path of
  // the complete checkpoint. Throws IoError.
  [[nodiscard]] std::string save(const Manifest& head,
                                 const std::vector<StatePiece>& pieces) const;

  // Sleeps until is_there() returns true. Returns false if no survivor has
  // given a sign of life for `patience`.
  [[nodiscard]] bool wait_until(const std::function<bool()>& is_there) const;

 private:
  void publish(const std::string& report) const;
  [[nodiscard]] SurvivorReport wait_for_report(int rank) const;
  [[nodiscard]] std::string file_of(int rank) const;

  Options options_;
};

}  // namespace chimera
