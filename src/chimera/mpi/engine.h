// The communication thread of a rank, which alone calls MPI, and what it
// drives: messages, sums, votes, heartbeats.
#pragma once

#include <mpi.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <variant>
#include <vector>

#include "chimera/comm/mailbox.h"
#include "chimera/mpi/communicators.h"
#include "chimera/mpi/group_sums.h"
#include "chimera/mpi/heart.h"
#include "chimera/mpi/mpi_transport.h"
#include "chimera/mpi/vote_rounds.h"
#include "chimera/mpi/watch.h"

namespace chimera {

// What the worker asks of the communication thread.
struct PostReceive {
  MessageId id;
  int from = 0;
  PayloadPtr into;
};
struct Send {
  MessageId id;
  int to = 0;
  PayloadPtr payload;
};
struct StartCollective {
  CollectiveId id;
  NumberBuffer buffer;
};
struct StartVote {
  int step = 0;
  Ballot ballot;
};
struct Question {                          // whom does this wait for?
  std::optional<CollectiveId> collective;  // none: the vote
  std::shared_ptr<std::promise<int>> answer;
};
using Request =
    std::variant<PostReceive, Send, StartCollective, StartVote, Question>;

class Engine {
 public:
  // All three outlive it.
  Engine(const MpiOptions& options, const Communicators& comms,
         Mailbox& mailbox);
  // Leaves only when all peers do, so that nobody's messages are left over.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void ask(Request request);

  [[nodiscard]] const Heart& heart() const { return heart_; }
  [[nodiscard]] Watch& watch() { return watch_; }

  std::atomic<std::uint64_t> progress = 0;  // of the worker, for heartbeats
  std::atomic<bool> worker_waits = false;   // and polls are more frequent

 private:
  void make_groups(const Communicators& comms);
  void run();
  [[nodiscard]] bool is_done();
  bool take_requests();
  void begin(PostReceive& post);
  void begin(Send& send);
  void begin(const StartCollective& start);
  void begin(const StartVote& vote);
  void begin(const Question& question);
  void tell_ending();
  void sleep();
  [[nodiscard]] Clock::duration pause() const;
  [[nodiscard]] GroupSums& sums_of(const CollectiveId& id) {
    return *(id.kind == CollectiveId::Kind::kSum ? sums_ : gathers_)[id.group];
  }

  const MpiOptions& options_;
  Mailbox& mailbox_;
  const Communicators& comms_;
  // Only the thread touches these, but for what heart and watch allow.
  Wire wire_;
  Heart heart_;
  VoteRounds votes_;
  std::vector<std::unique_ptr<GroupSums>> sums_;     // by group; null if local
  std::vector<std::unique_ptr<GroupSums>> gathers_;  // by group
  int told_ = 0;  // the exit code that all others have been told
  Clock::time_point last_event_;
  int polls_in_vain_ = 0;
  std::vector<Request> taken_;
  Watch watch_;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Request> asked_;  // guarded by mutex_
  bool is_leaving_ = false;     // guarded by mutex_
  std::thread thread_;
};

}  // namespace chimera
