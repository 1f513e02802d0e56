// Non-blocking MPI messages, each with a function to call when it is complete.
// Used by one thread only, which must keep calling advance(): Open MPI moves
// nothing unless somebody calls it.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "chimera/comm/link_clock.h"

namespace chimera {

// The other end of a message.
struct MpiAddress {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;  // in comm
  int tag = 0;

  auto operator<=>(const MpiAddress&) const = default;
};

class Wire {
 public:
  using Done = std::function<void(const MPI_Status& status)>;
  // The link that a message takes.
  struct Link {
    int to = -1;  // rank of the world; -1: the message is never held back
    bool is_occupied = true;  // false: too small to occupy the link
  };

  // The rank of the world that a wire belongs to.
  struct Place {
    int rank = 0;
    int ranks = 1;
  };

  // `links` may be slow, for emulated runs: a message that would still be in
  // transit is held back at its sender.
  Wire(const LinkTimesPtr& links, const Place& place);
  // Cancels receives that have not completed.
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  // Receives a message into these bytes; advance() then calls `done`. REQUIRES:
  // the bytes stay in place until then.
  void receive(const MpiAddress& from, std::span<std::byte> into, Done done);
  // Messages of one address keep their order.
  void send(const MpiAddress& to, const Link& link,
            std::span<const std::byte> bytes, Done done);

  // Starts the messages that are due and finishes those that are complete.
  // Returns true if it started or finished any.
  bool advance();

  // Time at which the next held-back message is due; the far future if there is
  // none.
  [[nodiscard]] Clock::time_point next_due() const;

 private:
  struct Held {
    MpiAddress to;
    std::span<const std::byte> bytes;
    Done done;
  };

  [[nodiscard]] Clock::time_point due(const MpiAddress& to, const Link& link,
                                      std::size_t bytes);
  void start_send(const MpiAddress& to, std::span<const std::byte> bytes,
                  Done done);
  void add(MPI_Request request, Done done, int expected);
  // Checks the statuses that MPI_Testsome returned. Throws CommError.
  void check_statuses(int code, int count) const;
  // Returns a function for each piece of a long message that calls `done` after
  // the last piece. (MPI counts bytes in an int.)
  static Done once_all(std::size_t pieces, Done done);

  LinkClock links_;  // only this rank's: a link belongs to its sender
  bool is_slowed_;
  int rank_;
  std::multimap<Clock::time_point, Held> held_;  // by due time
  std::map<MpiAddress, Clock::time_point> last_due_;
  // Parallel vectors, because MPI_Testsome needs the requests in one array.
  std::vector<MPI_Request> requests_;
  std::vector<Done> dones_;
  std::vector<int> expected_;  // bytes of a receive; -1 for a send
  // Results of MPI_Testsome, kept so that no call allocates.
  std::vector<int> indices_;
  std::vector<MPI_Status> statuses_;
  std::vector<std::pair<Done, MPI_Status>> finished_;
};

}  // namespace chimera
