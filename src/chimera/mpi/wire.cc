#include "chimera/mpi/wire.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "chimera/base/check.h"
#include "chimera/mpi/mpi_error.h"

namespace chimera {
namespace {

// Stands for the expected length of a send, which has nothing to check.
constexpr int kSent = -1;

// MPI counts bytes in an int.
constexpr std::size_t kLongestPiece = std::size_t{1} << 30;

std::size_t pieces_of(std::size_t bytes) {
  return std::max<std::size_t>(1, (bytes + kLongestPiece - 1) / kLongestPiece);
}

}  // namespace

Wire::Wire(const LinkTimesPtr& links, const Place& place)
    : links_(links, place.ranks),
      is_slowed_(links != nullptr),
      rank_(place.rank) {}

Wire::~Wire() {
  for (MPI_Request& request : requests_) {
    MPI_Cancel(&request);
    MPI_Request_free(&request);
  }
}

Wire::Done Wire::once_all(std::size_t pieces, Done done) {
  if (pieces == 1) return done;
  auto left = std::make_shared<std::size_t>(pieces);
  return [left, done = std::move(done)](const MPI_Status& status) {
    if (--*left == 0) done(status);
  };
}

// Pieces of one message arrive in the order in which they were sent.
void Wire::receive(const MpiAddress& from, std::span<std::byte> into,
                   Done done) {
  const Done piece_done = once_all(pieces_of(into.size()), std::move(done));
  do {
    const std::span piece = into.first(std::min(into.size(), kLongestPiece));
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Irecv(piece.data(), static_cast<int>(piece.size()), MPI_BYTE,
                        from.rank, from.tag, from.comm, &request),
              "MPI_Irecv");
    add(request, piece_done, static_cast<int>(piece.size()));
    into = into.subspan(piece.size());
  } while (!into.empty());
}

void Wire::send(const MpiAddress& to, const Link& link,
                std::span<const std::byte> bytes, Done done) {
  if (!is_slowed_ || link.to < 0) return start_send(to, bytes, std::move(done));
  held_.emplace(due(to, link, bytes.size()), Held{to, bytes, std::move(done)});
}

Clock::time_point Wire::due(const MpiAddress& to, const Link& link,
                            std::size_t bytes) {
  const Clock::time_point arrival =
      links_.message(rank_, link.to, link.is_occupied ? bytes : 0).end;
  Clock::time_point& last = last_due_[to];
  // A small message must not overtake a large one to the same address.
  last = std::max(last, arrival);
  return last;
}

void Wire::start_send(const MpiAddress& to, std::span<const std::byte> bytes,
                      Done done) {
  const Done piece_done = once_all(pieces_of(bytes.size()), std::move(done));
  do {
    const std::span piece = bytes.first(std::min(bytes.size(), kLongestPiece));
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Isend(piece.data(), static_cast<int>(piece.size()), MPI_BYTE,
                        to.rank, to.tag, to.comm, &request),
              "MPI_Isend");
    add(request, piece_done, kSent);
    bytes = bytes.subspan(piece.size());
  } while (!bytes.empty());
}

void Wire::add(MPI_Request request, Done done, int expected) {
  requests_.push_back(request);
  dones_.push_back(std::move(done));
  expected_.push_back(expected);
}

// Checks lengths. Both ends derive from the schedule what comes next, so
// another length means that they disagree.
void Wire::check_statuses(int code, int count) const {
  for (int i = 0; i < count; ++i) {
    const MPI_Status& status = statuses_[i];
    // MPI sets the error fields only with MPI_ERR_IN_STATUS.
    if (code == MPI_ERR_IN_STATUS && status.MPI_ERROR != MPI_ERR_PENDING) {
      CHIMERA_CHECK(status.MPI_ERROR != MPI_ERR_TRUNCATE,
                    "a message is longer than was expected");
      check_mpi(status.MPI_ERROR, "a message");
    }
    const int expected = expected_[indices_[i]];
    if (expected == kSent) continue;
    int came = 0;
    MPI_Get_count(&status, MPI_BYTE, &came);
    CHIMERA_CHECK_EQ(came, expected);
  }
}

Clock::time_point Wire::next_due() const {
  return held_.empty() ? Clock::time_point::max() : held_.begin()->first;
}

bool Wire::advance() {
  bool moved = false;
  while (!held_.empty() && held_.begin()->first <= Clock::now()) {
    Held held = std::move(held_.extract(held_.begin()).mapped());
    start_send(held.to, held.bytes, std::move(held.done));
    moved = true;
  }
  if (requests_.empty()) return moved;
  indices_.resize(requests_.size());
  statuses_.resize(requests_.size());
  int count = 0;
  const int code =
      MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count,
                   indices_.data(), statuses_.data());
  if (code != MPI_ERR_IN_STATUS) check_mpi(code, "MPI_Testsome");
  if (count == MPI_UNDEFINED || count == 0) return moved;
  check_statuses(code, count);
  // A `done` function may start new messages, so the finished ones are removed
  // first, from the highest index down, so that the other indices stay valid.
  for (int i = 0; i < count; ++i) {
    finished_.emplace_back(std::move(dones_[indices_[i]]), statuses_[i]);
  }
  std::sort(indices_.begin(), indices_.begin() + count, std::greater<>());
  const auto drop = [](auto& items, int index) {
    std::swap(items[index], items.back());
    items.pop_back();
  };
  for (int i = 0; i < count; ++i) {
    drop(requests_, indices_[i]);
    drop(dones_, indices_[i]);
    drop(expected_, indices_[i]);
  }
  for (const auto& [done, status] : finished_) {
    if (done) done(status);
  }
  finished_.clear();
  return true;
}

}  // namespace chimera
