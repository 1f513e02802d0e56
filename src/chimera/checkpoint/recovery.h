// How the ranks that are left save the run after one of them is lost. They
// reach each other through the run directory alone: MPI can hang inside any
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
#include <string>
#include <vector>

#include "chimera/checkpoint/parts.h"
#include "chimera/comm/ballot.h"

namespace chimera {

// What a rank knows of the run.
struct SurvivorReport {
  int steps = 0;  // whose votes it has read
  Ballot vote;    // the last of them
};

// Every rank of `ranks` but one, ascending.
[[nodiscard]] std::vector<int> all_but(int rank, int ranks);

class Recovery {
 public:
  struct Options {
    std::string run_dir;
    int rank = 0;
    std::vector<int> survivors;  // ascending, this one included
    int keep = 1;
    std::chrono::duration<double> patience{60};
  };
  explicit Recovery(Options options) : options_(std::move(options)) {}

  // Of all survivors the one that knows most. Throws IoError, also when they
  // have not all spoken in time, or one of them is lost too.
  [[nodiscard]] SurvivorReport agree(const SurvivorReport& mine) const;

  // Instead, by one that has failed itself: nobody need wait for it.
  void withdraw() const;

  // By the rank that is lost, if its process still lives: waits until the
  // survivors have saved the run. Returns the steps done. Throws IoError as
  // agree() does, and if it takes too long.
  [[nodiscard]] int wait_for_survivors() const;

  // Writes this rank's part; the first of them commits. Returns the path of
  // the checkpoint once it is complete. Throws IoError.
  [[nodiscard]] std::string save(const Manifest& head,
                                 const std::vector<StatePiece>& pieces) const;

 private:
  void publish(const std::string& report) const;
  [[nodiscard]] SurvivorReport wait_for_report(int rank) const;
  [[nodiscard]] std::string file_of(int rank) const;

  Options options_;
};

}  // namespace chimera
