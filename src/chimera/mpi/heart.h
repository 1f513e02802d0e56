// Heartbeats: every rank tells those who may have to wait for it, a few times a
// second, how far it has come, and notes when it heard theirs. Also the way by
// which the end of a run is told to all. Used by the Wire's thread.
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

class Heart {
 public:
  struct Options {
    MPI_Comm comm = MPI_COMM_NULL;  // of the whole world
    int first_tag = 0;              // uses two tags
    std::vector<int> peers;         // symmetric: who hears this one is heard
    std::function<void(const Ending& ending)> on_ending;  // another rank's
  };

  using Silence = std::pair<int, Clock::duration>;  // rank (-1 = none), time

  static constexpr Clock::duration kPeriod = std::chrono::milliseconds(100);
  // Several heartbeats are missing.
  static constexpr Clock::duration kSilent = 7 * kPeriod;

  Heart(Wire& wire, Options options);
  Heart(const Heart&) = delete;
  Heart& operator=(const Heart&) = delete;

  // Sends what is due.
  void beat(std::uint64_t progress);

  // Tells all other ranks.
  void tell_all(const Ending& ending);

  // Says farewell: who has done so may fall silent.
  void say_goodbye() { is_leaving_ = true; }
  // Everybody has, and it was sent to all.
  [[nodiscard]] bool is_done() const;

  // What is known of a rank; any thread. Silence is zero after its farewell.
  [[nodiscard]] std::uint64_t progress_of(int rank) const;
  [[nodiscard]] Clock::duration silence_of(int rank) const;
  // The rank that was not heard for the longest time, by this rank or by those
  // it hears, and that time; any thread. Whom one waits for may itself wait for
  // somebody whom only others hear.
  [[nodiscard]] Silence longest_silence() const;
  // The same by this rank alone.
  [[nodiscard]] Silence own_longest_silence() const;
  // As if everybody had just been heard; any thread.
  void forgive();

 private:
  struct Beat {
    std::uint64_t progress = 0;
    std::int32_t is_last = 0;
    std::int32_t silent_rank = -1;  // the sender's own longest silence
    std::int64_t silent_for = 0;    // in ticks of the clock
  };
  struct Peer {
    int rank = 0;
    bool is_sending = false;
    bool told_goodbye = false;
    Beat sent;
  };
  // What is known of a rank; written by the Wire's thread, read by any.
  struct Known {
    std::atomic<std::uint64_t> progress = 0;
    std::atomic<Clock::rep> heard = 0;
    std::atomic<bool> has_left = false;
    std::atomic<int> silent_rank = -1;  // as it has told
    std::atomic<Clock::rep> silent_for = 0;
  };
  // An Ending as it travels.
  struct EndingMessage {
    int exit_code = 0;
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
  std::deque<EndingMessage> endings_sent_;  // each stays where it is
  std::vector<Peer> peers_;
  std::vector<Known> known_;  // [rank]
};

}  // namespace chimera
