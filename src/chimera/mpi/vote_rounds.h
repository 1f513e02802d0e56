// The vote of a step by messages: ballots are merged by the tree of
// sum_tree.h, each level an exchange between two ranks, so that every rank has
// the result after log2 of their number.
#pragma once

#include <list>
#include <vector>

#include "chimera/comm/ballot.h"
#include "chimera/mpi/wire.h"

namespace chimera {

class VoteRounds {
 public:
  using Done = std::function<void(int step, const Ballot& result)>;

  // Uses tags from `first_tag` on, two of them.
  VoteRounds(Wire& wire, MPI_Comm comm, int first_tag, Done done);
  VoteRounds(const VoteRounds&) = delete;
  VoteRounds& operator=(const VoteRounds&) = delete;

  // A rank starts the vote of a step only when it has read the last one.
  void start(int step, const Ballot& ballot);

  // Whom the vote at hand waits for; -1 if none is.
  [[nodiscard]] int waits_for() const;

 private:
  struct Round {
    int peer = 0;
    bool sends = true;
    bool receives = true;
    bool replaces = false;  // what comes is the result
  };
  struct Vote {
    int step = 0;
    std::size_t round = 0;
    int under_way = 0;
    Ballot mine;
    Ballot sent;
    Ballot arrived;
  };

  void begin_round(std::list<Vote>::iterator vote);
  void message_done(std::list<Vote>::iterator vote);

  Wire& wire_;
  MPI_Comm comm_;
  int first_tag_;
  Done done_;
  std::vector<Round> rounds_;  // the same in every vote
  std::list<Vote> votes_;      // one, as a rule
};

}  // namespace chimera
