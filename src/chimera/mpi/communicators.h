// The communicators of a run: one for messages (several if MPI has too few
// tags), one for votes and heartbeats, and one for each sum group. All ranks
// make them in the same order. Also knows which ranks are processes of this
// host.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "chimera/mpi/wire.h"

namespace chimera {

class Communicators {
 public:
  // REQUIRES: the arguments are as in MpiOptions, and all ranks of the world
  // construct theirs at the same time. Throws CommError.
  Communicators(const std::vector<std::vector<int>>& groups,
                std::int64_t messages);
  ~Communicators();
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return ranks_; }
  // The address of messages with this index between this rank and `rank`. No
  // two indices share both communicator and tag; several communicators are used
  // because an MPI may have few tags.
  [[nodiscard]] MpiAddress message(std::int64_t index, int rank) const;
  [[nodiscard]] MPI_Comm control() const { return control_; }
  // The communicator of a sum group; MPI_COMM_NULL if this rank is not a
  // member, or is the only one.
  [[nodiscard]] MPI_Comm group(std::size_t number) const {
    return groups_[number];
  }
  // The process id of a rank; 0 if it is not on this host.
  [[nodiscard]] int local_pid(int rank) const { return local_pids_[rank]; }

 private:
  void find_local_pids();

  int rank_ = 0;
  int ranks_ = 1;
  std::vector<MPI_Comm> messages_;
  std::int64_t tags_ = 1;  // tags of each message communicator
  MPI_Comm control_ = MPI_COMM_NULL;
  std::vector<MPI_Comm> groups_;
  std::vector<int> local_pids_;  // [rank]
};

}  // namespace chimera
