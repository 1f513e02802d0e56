// Holds MPI for the length of a run, and lets ranks exchange texts before there
// is a transport. Used by one thread.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace chimera {

class MpiSession {
 public:
  // Throws CommError.
  MpiSession();
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  // Number of ranks on this rank's host.
  [[nodiscard]] int ranks_here() const { return ranks_here_; }
  // Index of this rank among the ranks of its host.
  [[nodiscard]] int local_rank() const { return local_rank_; }
  [[nodiscard]] int hosts() const { return hosts_; }
  // Example: "Open MPI v4.1.4".
  [[nodiscard]] static std::string library();

  // Returns on rank 0 the texts of all ranks, in rank order; elsewhere nothing.
  // Throws TimeoutError, which names the first rank that is missing.
  [[nodiscard]] std::vector<std::string> gather(const std::string& mine,
                                                std::chrono::seconds deadline);
  // Returns rank 0's text on every rank.
  [[nodiscard]] std::string broadcast(const std::string& mine,
                                      std::chrono::seconds deadline);

 private:
  int rank_ = 0;
  int size_ = 1;
  int ranks_here_ = 1;
  int local_rank_ = 0;
  int hosts_ = 1;
};

}  // namespace chimera
