// MPI for the length of a run, and what ranks tell each other before there is a
// transport. Used by one thread.
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
  // How many ranks share this one's host.
  [[nodiscard]] int ranks_here() const { return ranks_here_; }
  [[nodiscard]] int hosts() const { return hosts_; }
  // "Open MPI v4.1.4".
  [[nodiscard]] static std::string library();

  // On rank 0: what every rank has given, in rank order; elsewhere: empty.
  // Throws TimeoutError, which names the first rank that is missing.
  [[nodiscard]] std::vector<std::string> gather(const std::string& mine,
                                                std::chrono::seconds deadline);
  // On every rank: what rank 0 has given.
  [[nodiscard]] std::string broadcast(const std::string& mine,
                                      std::chrono::seconds deadline);

 private:
  int rank_ = 0;
  int size_ = 1;
  int ranks_here_ = 1;
  int hosts_ = 1;
};

}  // namespace chimera
