// The communicators of a run: one for messages, one for votes and heartbeats,
// one for each sum group, all made in one order on every rank. And which ranks
// are processes of this host.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

namespace chimera {

class Communicators {
 public:
  // `groups` as in MpiOptions. All ranks of the world make theirs at once.
  // Throws CommError.
  explicit Communicators(const std::vector<std::vector<int>>& groups);
  ~Communicators();
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] MPI_Comm messages() const { return messages_; }
  [[nodiscard]] MPI_Comm control() const { return control_; }
  // MPI_COMM_NULL if this rank is not a member, or the only one.
  [[nodiscard]] MPI_Comm group(std::size_t number) const {
    return groups_[number];
  }
  // The process of a rank; 0 if it is not on this host.
  [[nodiscard]] int local_pid(int rank) const { return local_pids_[rank]; }

 private:
  void find_local_pids();

  int rank_ = 0;
  int ranks_ = 1;
  MPI_Comm messages_ = MPI_COMM_NULL;
  MPI_Comm control_ = MPI_COMM_NULL;
  std::vector<MPI_Comm> groups_;
  std::vector<int> local_pids_;  // [rank]
};

}  // namespace chimera
