// Non-blocking MPI messages and what follows when each is through. Used by one
// thread only, which calls advance() again and again: Open MPI moves nothing
// unless somebody calls it.
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

// Where a message goes to or comes from.
struct MpiAddress {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;  // in comm
  int tag = 0;

  auto operator<=>(const MpiAddress&) const = default;
};

class Wire {
 public:
  using Done = std::function<void(const MPI_Status& status)>;
  static constexpr int kNoLink = -1;
  static constexpr int kLatencyOnly = -2;

  // Links may be slowed, for emulated runs: a message that would still be under
  // way is held back at its sender.
  Wire(const LinkSpeed& links, int ranks);
  // Gives up what has not come: receives are cancelled.
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  // The bytes must stay where they are until `done`, which advance() calls.
  void receive(const MpiAddress& from, std::span<std::byte> into, Done done);
  // `link` is the receiver's number in the world, whose link is occupied;
  // kLatencyOnly for what is too small for that, kNoLink for what is never held
  // back. Messages of one address keep their order.
  void send(const MpiAddress& to, int link, std::span<const std::byte> bytes,
            Done done);

  // Starts what is due and finishes what has come; whether there was any.
  bool advance();

  // When the next message that is held back is due; the far future if none.
  [[nodiscard]] Clock::time_point next_due() const;

 private:
  struct Held {
    MpiAddress to;
    std::span<const std::byte> bytes;
    Done done;
  };

  [[nodiscard]] Clock::time_point due(const MpiAddress& to, int link,
                                      std::size_t bytes);
  void start_send(const MpiAddress& to, std::span<const std::byte> bytes,
                  Done done);
  void add(MPI_Request request, Done done, int expected);
  // What MPI_Testsome says; throws.
  void check_statuses(int code, int count) const;
  // One `done` for all pieces of a message that is too long for MPI's int.
  static Done once_all(std::size_t pieces, Done done);

  LinkClock links_;
  bool is_slowed_;
  std::multimap<Clock::time_point, Held> held_;  // by when they are due
  std::map<MpiAddress, Clock::time_point> last_due_;
  // Parallel, as MPI_Testsome wants the requests in one array.
  std::vector<MPI_Request> requests_;
  std::vector<Done> dones_;
  std::vector<int> expected_;  // bytes of a receive; -1 of a send
  // Of MPI_Testsome, kept so that nothing is allocated per call.
  std::vector<int> indices_;
  std::vector<MPI_Status> statuses_;
  std::vector<std::pair<Done, MPI_Status>> finished_;
};

}  // namespace chimera
