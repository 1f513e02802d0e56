// Votes by messages. Ballots are merged by the tree of sum_tree.h; each level
// is an exchange between two ranks, so that every rank has the result after
// log2(ranks) exchanges.
#pragma once

#include <list>
#include <vector>

#include "chimera/comm/transport.h"
#include "chimera/mpi/wire.h"

namespace chimera {

class VoteRounds {
 public:
  using Done = std::function<void(const VoteId& id, const Ballot& result)>;

  VoteRounds(Wire& wire, MPI_Comm comm, Done done);
  VoteRounds(const VoteRounds&) = delete;
  VoteRounds& operator=(const VoteRounds&) = delete;

  // REQUIRES: this rank has read the result of the previous vote.
  void start(const VoteId& id, const Ballot& ballot);

  // The rank that the current vote waits for; -1 if there is no vote.
  [[nodiscard]] int waits_for() const;

 private:
  struct Round {
    int peer = 0;
    bool sends = true;
    bool receives = true;
    bool replaces = false;  // received ballot is the result
  };
  struct Vote {
    VoteId id;
    int tag = 0;
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
  Done done_;
  std::vector<Round> rounds_;  // equal in every vote
  std::list<Vote> votes_;      // the running vote, if any
  bool is_odd_ = false;        // the next vote's number is odd
};

}  // namespace chimera
