// Communication between workers. There is one Transport per rank; its functions
// are called by that rank's worker thread unless noted. Starting an operation
// never waits for a peer; messages and all-reduces progress while the worker
// computes. Every wait has the transport's deadline: a missed one throws
// TimeoutError, and a wait that a peer's abort() ends throws AbortedError.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "chimera/comm/ballot.h"
#include "chimera/comm/channel.h"
#include "chimera/comm/payload.h"

namespace chimera {

using Clock = std::chrono::steady_clock;

// The time that an operation took. A message's span lasts from its sending to
// its arrival; a receiver that knows only the arrival gives an empty span at
// that time. A collective's span starts when its last member started it or, if
// that is unknown, when this rank did. trace/merge.h completes both.
struct Span {
  Clock::time_point start;
  Clock::time_point end;
};

// A message is identified by its channel, its step, and a number within the
// step that both ends derive from the schedule.
struct MessageId {
  std::int64_t index = 0;
  int step = 0;
  Channel channel = Channel::kTraining;

  bool operator==(const MessageId&) const = default;
};

struct Received {
  PayloadPtr payload;
  Span span;
};

// The result of a vote, and the time at which this rank received it.
struct CountedVote {
  Ballot ballot;
  Clock::time_point known;
};

// A collective is identified by its channel, its group's number in the
// schedule, its step, and a number within the step (a micro-batch, where each
// has its own).
struct CollectiveId {
  enum class Kind : std::uint8_t { kAllReduce, kAllGather };

  Kind kind = Kind::kAllReduce;
  int group = 0;
  int number = 0;
  int step = 0;
  Channel channel = Channel::kTraining;

  auto operator<=>(const CollectiveId&) const = default;
};

struct VoteId {
  int step = 0;
  Channel channel = Channel::kTraining;

  auto operator<=>(const VoteId&) const = default;
};

enum class NumberType : std::uint8_t { kFloat32, kFloat64 };

class DeviceNumbers;

// One rank's contribution to a collective: contiguous numbers, which must not
// move until the collective is complete.
struct NumberBuffer {
  void* data = nullptr;
  std::size_t count = 0;
  NumberType type = NumberType::kFloat32;
  // True: after an all-reduce each member reads only its own shard of the sum.
  // REQUIRES: the same value on every member.
  bool only_shard = false;
  // Set if `data` is a device's memory, which the host cannot read.
  std::shared_ptr<DeviceNumbers> device = nullptr;

  [[nodiscard]] std::size_t bytes() const {
    return count * (type == NumberType::kFloat32 ? 4 : 8);
  }
};

// Numbers of a device. Collectives over them are queued there.
class DeviceNumbers {
 public:
  DeviceNumbers() = default;
  DeviceNumbers(const DeviceNumbers&) = delete;
  DeviceNumbers& operator=(const DeviceNumbers&) = delete;
  virtual ~DeviceNumbers() = default;

  // Queues a collective over `members`, in member order, once all have started
  // it. Called on one member, on any thread.
  virtual void run(CollectiveId::Kind kind,
                   std::span<const NumberBuffer> members) = 0;
  // Makes all later work of the rank wait for the collective. Called by the
  // rank's wait_collective().
  virtual void finish() = 0;

  // Between processes instead of run(): copies the numbers to host memory, and
  // finish() copies the result back. stage() is called on the rank's thread;
  // its buffer holds the numbers once is_ready().
  [[nodiscard]] virtual NumberBuffer stage() = 0;
  [[nodiscard]] virtual bool is_ready() = 0;
};

// Shards are cut at multiples of this many elements.
inline constexpr std::size_t kShardGrain = 16;

struct Shard {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// The elements that member `index` of `members` owns: equal shares, in
// multiples of kShardGrain.
[[nodiscard]] Shard shard_of(std::size_t count, int index, int members);

class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;

  // Messages. Those of one id from one rank arrive in the order in which they
  // were sent. REQUIRES: a receive is posted before it is waited for.
  virtual void post_receive(const MessageId& id, int from,
                            const PayloadMaker& make) = 0;
  virtual void send(const MessageId& id, int to, PayloadPtr payload) = 0;
  virtual Received receive(const MessageId& id, int from) = 0;

  // Collectives over `members`. An all-reduce leaves in every member's buffer
  // the sum over all members, added by the tree of sum_tree.h (with only_shard:
  // the member's own shard of it, and zeros elsewhere). An all-gather leaves
  // every member's shard in every buffer. REQUIRES: `members` are ascending,
  // include this rank, are the same on every member, and outlive the wait.
  virtual void start_collective(const CollectiveId& id,
                                std::span<const int> members,
                                const NumberBuffer& buffer) = 0;
  virtual Span wait_collective(const CollectiveId& id) = 0;

  // The vote of a step, over all ranks. REQUIRES: this rank has read the result
  // of the vote it started before.
  virtual void start_vote(const VoteId& id, const Ballot& ballot) = 0;
  virtual CountedVote wait_vote(const VoteId& id) = 0;

  // Publishes this rank's progress, in a code that the ranks share, and returns
  // the newest known progress of another rank, for messages about missed
  // deadlines.
  virtual void report_progress(std::uint64_t progress) = 0;
  [[nodiscard]] virtual std::uint64_t progress_of(int rank) const = 0;
  // Seconds since `rank` was last heard; 0 if ranks cannot be lost.
  [[nodiscard]] virtual double silence_of(int rank) const = 0;

  // Ends the run on every rank: all waits, present and future, throw
  // AbortedError with this reason; only the first reason counts. May be called
  // on any thread. ENSURES: no collective touches a buffer any more, so a
  // failing rank calls it before freeing its buffers.
  virtual void abort(const std::string& reason) noexcept = 0;
};

}  // namespace chimera
