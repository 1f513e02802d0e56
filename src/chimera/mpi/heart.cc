#include "chimera/mpi/heart.h"

#include <algorithm>
#include <utility>

namespace chimera {
namespace {

int size_of(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}

Clock::rep now() { return Clock::now().time_since_epoch().count(); }

}  // namespace

Heart::Heart(Wire& wire, Options options)
    : wire_(wire),
      options_(std::move(options)),
      next_beat_(Clock::now()),
      known_(size_of(options_.comm)) {
  MPI_Comm_rank(options_.comm, &rank_);
  for (const int rank : options_.peers) peers_.push_back({.rank = rank});
  forgive();
  listen_for_beats();
  listen_for_ending();
}

void Heart::listen_for_beats() {
  wire_.receive({options_.comm, MPI_ANY_SOURCE, options_.first_tag},
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

void Heart::listen_for_ending() {
  wire_.receive({options_.comm, MPI_ANY_SOURCE, options_.first_tag + 1},
                std::as_writable_bytes(std::span(&ending_arrived_, 1)),
                [this](const MPI_Status& /*status*/) {
                  const EndingMessage& message = ending_arrived_;
                  options_.on_ending({.exit_code = message.exit_code,
                                      .origin = message.origin,
                                      .reason = message.reason.data(),
                                      .lost = message.lost,
                                      .is_dead = message.is_dead != 0,
                                      .silent_s = message.silent_s,
                                      .progress = message.progress});
                  listen_for_ending();
                });
}

void Heart::beat(std::uint64_t progress) {
  const Clock::time_point time = Clock::now();
  if (time < next_beat_) return;
  next_beat_ = time + kPeriod;
  const Silence silence = own_longest_silence();
  for (Peer& peer : peers_) {
    // If the last one has not even left, more would only pile up.
    if (peer.is_sending || peer.told_goodbye) continue;
    peer.is_sending = true;
    peer.sent = {.progress = progress,
                 .is_last = is_leaving_ ? 1 : 0,
                 .silent_rank = silence.first,
                 .silent_for = silence.second.count()};
    wire_.send({options_.comm, peer.rank, options_.first_tag}, Wire::kNoLink,
               std::as_bytes(std::span(&peer.sent, 1)),
               [&peer](const MPI_Status&) {
                 peer.is_sending = false;
                 peer.told_goodbye = peer.sent.is_last != 0;
               });
  }
}

void Heart::tell_all(const Ending& ending) {
  EndingMessage& message = endings_sent_.emplace_back();
  message = {.exit_code = ending.exit_code,
             .origin = ending.origin,
             .lost = ending.lost,
             .is_dead = ending.is_dead ? 1 : 0,
             .silent_s = ending.silent_s,
             .progress = ending.progress};
  std::copy_n(ending.reason.data(),
              std::min(ending.reason.size(), message.reason.size() - 1),
              message.reason.data());
  const auto tell = [&](int rank) {
    wire_.send({options_.comm, rank, options_.first_tag + 1}, Wire::kNoLink,
               std::as_bytes(std::span(&message, 1)), {});
  };
  for (int rank = 0; rank < static_cast<int>(known_.size()); ++rank) {
    if (rank != rank_ && rank != ending.lost) tell(rank);
  }
  // It may only have been stopped, and learns this when it wakes up. Last, as
  // sending to the dead may hang.
  if (ending.lost >= 0 && ending.lost != rank_ && !ending.is_dead) {
    tell(ending.lost);
  }
}

bool Heart::is_done() const {
  return std::all_of(peers_.begin(), peers_.end(), [this](const Peer& peer) {
    return peer.told_goodbye && known_[peer.rank].has_left;
  });
}

Heart::Silence Heart::own_longest_silence() const {
  Silence longest{-1, {}};
  for (const Peer& peer : peers_) {
    const Clock::duration time = silence_of(peer.rank);
    if (time > longest.second) longest = {peer.rank, time};
  }
  return longest;
}

Heart::Silence Heart::longest_silence() const {
  Silence longest = own_longest_silence();
  for (const Peer& peer : peers_) {
    const Known& known = known_[peer.rank];
    const Clock::duration time(known.silent_for);
    // What a silent one has told last is out of date, and of oneself one knows.
    const bool counts =
        known.silent_rank != rank_ && silence_of(peer.rank) < 5 * kPeriod;
    if (counts && time > longest.second) longest = {known.silent_rank, time};
  }
  return longest;
}

void Heart::forgive() {
  for (Known& known : known_) known.heard = now();
}

std::uint64_t Heart::progress_of(int rank) const {
  return known_[rank].progress;
}

Clock::duration Heart::silence_of(int rank) const {
  const Known& known = known_[rank];
  if (known.has_left) return {};
  // At least a tick: zero stands for a farewell.
  return Clock::duration(std::max<Clock::rep>(1, now() - known.heard));
}

}  // namespace chimera
