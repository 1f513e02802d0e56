#include "chimera/mpi/heartbeats.h"

#include <algorithm>
#include <utility>

#include "chimera/mpi/tags.h"

namespace chimera {
namespace {

int size_of(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}

Clock::rep now() { return Clock::now().time_since_epoch().count(); }

}  // namespace

Heartbeats::Heartbeats(Wire& wire, Options options)
    : wire_(wire),
      options_(std::move(options)),
      next_beat_(Clock::now()),
      known_(size_of(options_.comm)) {
  MPI_Comm_rank(options_.comm, &rank_);
  for (const int rank : options_.peers) peers_.push_back({.rank = rank});
  reset_silences();
  listen_for_beats();
  listen_for_ending();
}

void Heartbeats::listen_for_beats() {
  // One receive serves all peers; it is posted anew whenever it completes.
  wire_.receive({options_.comm, MPI_ANY_SOURCE, kHeartbeatTag},
                std::as_writable_bytes(std::span(&arrived_, 1)),
                [this](const MPI_Status& status) {
                  Known& known = known_[status.MPI_SOURCE];
                  known.progress = arrived_.progress;
                  known.heard = now();
                  known.has_left = arrived_.is_last != 0;
                  known.silent_rank = arrived_.silent_rank;
                  known.silent_for = arrived_.silent_for;
                  listen_for_beats();
                });
}

void Heartbeats::listen_for_ending() {
  wire_.receive(
      {options_.comm, MPI_ANY_SOURCE, kEndingTag},
      std::as_writable_bytes(std::span(&ending_arrived_, 1)),
      [this](const MPI_Status& /*status*/) {
        const EndingMessage& message = ending_arrived_;
        options_.on_ending({.kind = static_cast<FailureKind>(message.kind),
                            .origin = message.origin,
                            .reason = message.reason.data(),
                            .lost = message.lost,
                            .is_dead = message.is_dead != 0,
                            .silent_s = message.silent_s,
                            .progress = message.progress});
        listen_for_ending();
      });
}

void Heartbeats::send_due(std::uint64_t progress) {
  const Clock::time_point time = Clock::now();
  if (time < next_beat_) return;
  next_beat_ = time + kPeriod;
  const Silence silence = own_longest_silence();
  for (Peer& peer : peers_) {
    // Sends nothing while the previous heartbeat is under way, since more would
    // only pile up.
    if (peer.is_sending || peer.knows_leaving) continue;
    peer.is_sending = true;
    peer.sent = {.progress = progress,
                 .is_last = is_leaving_ ? 1 : 0,
                 .silent_rank = silence.first,
                 .silent_for = silence.second.count()};
    wire_.send({options_.comm, peer.rank, kHeartbeatTag}, {},
               std::as_bytes(std::span(&peer.sent, 1)),
               [&peer](const MPI_Status&) {
                 peer.is_sending = false;
                 peer.knows_leaving = peer.sent.is_last != 0;
               });
  }
}

void Heartbeats::send_ending(const Ending& ending) {
  EndingMessage& message = endings_sent_.emplace_back();
  message = {.kind = static_cast<int>(ending.kind),
             .origin = ending.origin,
             .lost = ending.lost,
             .is_dead = ending.is_dead ? 1 : 0,
             .silent_s = ending.silent_s,
             .progress = ending.progress};
  std::copy_n(ending.reason.data(),
              std::min(ending.reason.size(), message.reason.size() - 1),
              message.reason.data());
  const auto send_to = [&](int rank) {
    wire_.send({options_.comm, rank, kEndingTag}, {},
               std::as_bytes(std::span(&message, 1)), {});
  };
  for (int rank = 0; rank < static_cast<int>(known_.size()); ++rank) {
    if (rank != rank_ && rank != ending.lost) send_to(rank);
  }
  // Tells the lost rank too: it may only have been stopped, and then learns of
  // the end when it wakes up. It is told last, because sending to a dead
  // process may hang.
  if (ending.lost >= 0 && ending.lost != rank_ && !ending.is_dead) {
    send_to(ending.lost);
  }
}

// True if this rank may fall silent: all its peers must know that it leaves,
// and must leave too, since a peer that stays may still need its messages.
bool Heartbeats::have_all_left() const {
  return std::all_of(peers_.begin(), peers_.end(), [this](const Peer& peer) {
    return peer.knows_leaving && known_[peer.rank].has_left;
  });
}

Heartbeats::Silence Heartbeats::own_longest_silence() const {
  Silence longest{-1, {}};
  for (const Peer& peer : peers_) {
    const Clock::duration time = silence_of(peer.rank);
    if (time > longest.second) longest = {peer.rank, time};
  }
  return longest;
}

Heartbeats::Silence Heartbeats::longest_silence() const {
  Silence longest = own_longest_silence();
  for (const Peer& peer : peers_) {
    const Known& known = known_[peer.rank];
    const Clock::duration time(known.silent_for);
    // News of a silent rank is out of date, and news of this rank is not
    // needed.
    const bool counts =
        known.silent_rank != rank_ && silence_of(peer.rank) < 5 * kPeriod;
    if (counts && time > longest.second) longest = {known.silent_rank, time};
  }
  return longest;
}

void Heartbeats::reset_silences() {
  for (Known& known : known_) known.heard = now();
}

std::uint64_t Heartbeats::progress_of(int rank) const {
  return known_[rank].progress;
}

Clock::duration Heartbeats::silence_of(int rank) const {
  const Known& known = known_[rank];
  if (known.has_left) return {};
  // Returns at least one tick, because zero means that the rank has left.
  return Clock::duration(std::max<Clock::rep>(1, now() - known.heard));
}

}  // namespace chimera
