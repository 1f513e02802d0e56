// The communication thread of a rank. It alone calls MPI, and drives messages,
// collectives, votes and heartbeats.
#pragma once

#include <mpi.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <variant>
#include <vector>

#include "chimera/comm/mailbox.h"
#include "chimera/mpi/communicators.h"
#include "chimera/mpi/group_collectives.h"
#include "chimera/mpi/heartbeats.h"
#include "chimera/mpi/mpi_transport.h"
#include "chimera/mpi/peer_monitor.h"
#include "chimera/mpi/vote_rounds.h"

namespace chimera {

// Requests of the worker to the communication thread.
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
  VoteId id;
  Ballot ballot;
};
// Asks which rank a collective or the vote is waiting for.
struct Question {
  std::optional<CollectiveId> collective;  // empty: the vote
  std::shared_ptr<std::promise<int>> answer;
};
using Request =
    std::variant<PostReceive, Send, StartCollective, StartVote, Question>;

class Engine {
 public:
  // REQUIRES: the three arguments outlive the engine.
  Engine(const MpiOptions& options, const Communicators& comms,
         Mailbox& mailbox);
  // Blocks until all peers leave too, so that no message is left over.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void ask(Request request);

  [[nodiscard]] const Heartbeats& heartbeats() const { return heartbeats_; }
  [[nodiscard]] PeerMonitor& monitor() { return monitor_; }

  std::atomic<std::uint64_t> progress = 0;  // worker's progress, for heartbeats
  // While the worker waits, polls are more frequent.
  std::atomic<bool> worker_waits = false;

 private:
  void make_groups(const Communicators& comms);
  void run();
  [[nodiscard]] bool is_done();
  bool take_requests();
  bool begin_staged();
  void begin(PostReceive& post);
  void begin(Send& send);
  void begin(const StartCollective& start);
  void begin(const StartVote& vote);
  void begin(const Question& question);
  void send_ending();
  void sleep();
  [[nodiscard]] Clock::duration pause() const;
  [[nodiscard]] GroupCollectives& collectives_of(const CollectiveId& id) {
    return *(id.kind == CollectiveId::Kind::kAllReduce
                 ? all_reduces_
                 : all_gathers_)[id.group];
  }

  const MpiOptions& options_;
  Mailbox& mailbox_;
  const Communicators& comms_;
  // Used by the communication thread only, except where heartbeats and monitor
  // allow any thread.
  Wire wire_;
  Heartbeats heartbeats_;
  VoteRounds votes_;
  std::vector<std::unique_ptr<GroupCollectives>> all_reduces_;  // null if local
  std::vector<std::unique_ptr<GroupCollectives>> all_gathers_;  // the same
  std::optional<FailureKind> sent_ending_;  // kind sent to all other ranks
  Clock::time_point last_event_;
  int idle_polls_ = 0;
  std::vector<Request> taken_;
  // Sends and collectives that wait for copies from a device, which become
  // ready in this order.
  std::deque<Request> staged_;
  PeerMonitor monitor_;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Request> asked_;  // guarded by mutex_
  bool is_leaving_ = false;     // guarded by mutex_
  std::thread thread_;
};

}  // namespace chimera
