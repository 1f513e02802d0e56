#include "chimera/mpi/vote_rounds.h"

#include <bit>

#include "chimera/mpi/tags.h"

namespace chimera {

VoteRounds::VoteRounds(Wire& wire, MPI_Comm comm, Done done)
    : wire_(wire), comm_(comm), done_(std::move(done)) {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  // The rounds follow sum_tree.h. Ranks beyond a power of two hand their ballot
  // to a neighbour first, and get the result from it last.
  const int leaves =
      static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
  const int folded = ranks - leaves;
  const bool is_folded = rank < 2 * folded;
  if (is_folded && rank % 2 == 1) {
    rounds_.push_back({.peer = rank - 1, .receives = false});
    rounds_.push_back({.peer = rank - 1, .sends = false, .replaces = true});
    return;
  }
  if (is_folded) rounds_.push_back({.peer = rank + 1, .sends = false});
  const int leaf = is_folded ? rank / 2 : rank - folded;
  for (int stride = 1; stride < leaves; stride *= 2) {
    const int other = leaf ^ stride;
    rounds_.push_back({.peer = other < folded ? 2 * other : other + folded});
  }
  if (is_folded) rounds_.push_back({.peer = rank + 1, .receives = false});
}

// A fast rank may be one vote ahead of a slow one, so tags alternate.
void VoteRounds::start(const VoteId& id, const Ballot& ballot) {
  votes_.push_back(
      {.id = id, .tag = is_odd_ ? kOddVoteTag : kEvenVoteTag, .mine = ballot});
  is_odd_ = !is_odd_;
  begin_round(std::prev(votes_.end()));
}

void VoteRounds::begin_round(std::list<Vote>::iterator vote) {
  if (vote->round == rounds_.size()) {
    const Vote done = *vote;
    votes_.erase(vote);
    done_(done.id, done.mine);
    return;
  }
  const Round& round = rounds_[vote->round];
  const MpiAddress peer{comm_, round.peer, vote->tag};
  const auto done = [this, vote](const MPI_Status&) { message_done(vote); };
  vote->under_way = (round.sends ? 1 : 0) + (round.receives ? 1 : 0);
  if (round.receives) {
    wire_.receive(peer, std::as_writable_bytes(std::span(&vote->arrived, 1)),
                  done);
  }
  if (round.sends) {
    vote->sent = vote->mine;
    wire_.send(peer, {.to = round.peer, .is_occupied = false},
               std::as_bytes(std::span(&vote->sent, 1)), done);
  }
}

void VoteRounds::message_done(std::list<Vote>::iterator vote) {
  if (--vote->under_way > 0) return;
  const Round& round = rounds_[vote->round];
  if (round.replaces) {
    vote->mine = vote->arrived;
  } else if (round.receives) {
    vote->mine = merge(vote->mine, vote->arrived);
  }
  ++vote->round;
  begin_round(vote);
}

int VoteRounds::waits_for() const {
  return votes_.empty() ? -1 : rounds_[votes_.front().round].peer;
}

}  // namespace chimera
