// Heartbeats: a few times a second every rank tells its peers how far it has
// come, and notes when it last heard from each of them. Endings of the run
// travel the same way. Used by the communication thread unless noted.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "chimera/comm/ending.h"
#include "chimera/mpi/wire.h"

namespace chimera {

class Heartbeats {
 public:
  struct Options {
    MPI_Comm comm = MPI_COMM_NULL;  // reaches all ranks of the world
    // REQUIRES: symmetric, so that each rank hears exactly those that hear it.
    std::vector<int> peers;
    // Called for endings of other ranks.
    std::function<void(const Ending& ending)> on_ending;
  };

  using Silence = std::pair<int, Clock::duration>;  // rank (-1 = none), time

  static constexpr Clock::duration kPeriod = std::chrono::milliseconds(100);
  // A rank that stays silent for longer has missed several heartbeats.
  static constexpr Clock::duration kSilent = 7 * kPeriod;

  Heartbeats(Wire& wire, Options options);
  Heartbeats(const Heartbeats&) = delete;
  Heartbeats& operator=(const Heartbeats&) = delete;

  // Sends the heartbeats that are due.
  void send_due(std::uint64_t progress);

  // Sends the ending to all other ranks.
  void send_ending(const Ending& ending);

  // Marks the following heartbeats as this rank's last: a rank that has sent
  // its last one may fall silent.
  void announce_leaving() { is_leaving_ = true; }
  // Whether every peer has announced that it leaves, and knows that this rank
  // does.
  [[nodiscard]] bool have_all_left() const;

  // Last known progress of a rank. Callable on any thread.
  [[nodiscard]] std::uint64_t progress_of(int rank) const;
  // Time since a rank was last heard; zero once it has left. Callable on any
  // thread.
  [[nodiscard]] Clock::duration silence_of(int rank) const;
  // The rank that has been silent for the longest time, as heard by this rank
  // or by its peers: a peer that keeps this rank waiting may itself wait for a
  // rank that only others hear. Callable on any thread.
  [[nodiscard]] Silence longest_silence() const;
  // The rank that has been silent for the longest time, as heard by this rank
  // alone. Callable on any thread.
  [[nodiscard]] Silence own_longest_silence() const;
  // Starts counting all silences again from now. Callable on any thread.
  void reset_silences();

 private:
  struct Beat {
    std::uint64_t progress = 0;
    std::int32_t is_last = 0;
    std::int32_t silent_rank = -1;  // most silent rank, as seen by the sender
    std::int64_t silent_for = 0;    // its silence, in clock ticks
  };
  struct Peer {
    int rank = 0;
    bool is_sending = false;
    bool knows_leaving = false;  // it was sent the last heartbeat
    Beat sent;
  };
  // The latest news of a rank, written by the communication thread; any thread
  // may read it.
  struct Known {
    std::atomic<std::uint64_t> progress = 0;
    std::atomic<Clock::rep> heard = 0;
    std::atomic<bool> has_left = false;
    std::atomic<int> silent_rank = -1;  // rank that it heard least recently
    std::atomic<Clock::rep> silent_for = 0;
  };
  // An Ending on the wire.
  struct EndingMessage {
    int kind = 0;
    int origin = -1;
    int lost = -1;
    int is_dead = 0;
    double silent_s = 0;
    std::uint64_t progress = 0;
    std::array<char, 2000> reason{};
  };

  void listen_for_beats();
  void listen_for_ending();

  Wire& wire_;
  Options options_;
  int rank_ = 0;
  bool is_leaving_ = false;
  Clock::time_point next_beat_;
  Beat arrived_;
  EndingMessage ending_arrived_;
  // A deque, because MPI needs stable addresses while messages are sent.
  std::deque<EndingMessage> endings_sent_;
  std::vector<Peer> peers_;
  std::vector<Known> known_;  // [rank]
};

}  // namespace chimera
