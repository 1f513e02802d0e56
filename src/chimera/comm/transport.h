// How workers reach each other. One Transport per rank; every call is made by
// that rank's own worker thread unless it says otherwise. Starting something
// never waits for a peer; messages and sums move on while the worker computes.
//
// Every wait has the transport's deadline. A missed one throws TimeoutError;
// a wait that a peer's abort() ends throws AbortedError.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "chimera/comm/ballot.h"
#include "chimera/comm/payload.h"

namespace chimera {

using Clock = std::chrono::steady_clock;

// When something was under way. Of a message: from its sending to its
// arrival, or its arrival alone (an empty span) where the receiver cannot know
// more. Of a collective: from the moment its last member had started it, or
// this rank where it cannot know; trace/merge.h completes both.
struct Span {
  Clock::time_point start;
  Clock::time_point end;
};

// A message is known by a number that both ends derive from the schedule, and
// by its step.
struct MessageId {
  std::int64_t index = 0;
  int step = 0;

  bool operator==(const MessageId&) const = default;
};

struct Received {
  PayloadPtr payload;
  Span span;
};

// A collective is known by its group's number in the schedule, a number within
// the step (a micro-batch, where every micro-batch has its own) and its step.
struct CollectiveId {
  enum class Kind : std::uint8_t { kAllReduce, kAllGather };

  Kind kind = Kind::kAllReduce;
  int group = 0;
  int number = 0;
  int step = 0;

  auto operator<=>(const CollectiveId&) const = default;
};

enum class NumberType : std::uint8_t { kFloat32, kFloat64 };

// The part of one rank: contiguous numbers, which must stay where they are
// until the collective is complete.
struct NumberBuffer {
  void* data = nullptr;
  std::size_t count = 0;
  NumberType type = NumberType::kFloat32;
  // Of a sum, this rank needs its own shard alone. The same on every member.
  bool only_shard = false;

  [[nodiscard]] std::size_t bytes() const {
    return count * (type == NumberType::kFloat32 ? 4 : 8);
  }
};

// Shards are cut at multiples of this many elements.
inline constexpr std::size_t kShardGrain = 16;

struct Shard {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// The elements that member `index` of `members` owns: equal shares of whole
// grains.
[[nodiscard]] Shard shard_of(std::size_t count, int index, int members);

class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;

  // Messages. A receive is posted before it is waited for.
  virtual void post_receive(const MessageId& id, int from,
                            const PayloadMaker& make) = 0;
  virtual void send(const MessageId& id, int to, PayloadPtr payload) = 0;
  virtual Received receive(const MessageId& id, int from) = 0;

  // Collectives over `members`, ascending ranks that include this one; every
  // member gives the same list and count. A sum leaves in every member's
  // buffer the sum over all, added by the tree of sum_tree.h (only_shard: its
  // own shard of that, and zeros elsewhere); a gather leaves there every
  // member's own shard. `members` must outlive the wait for it.
  virtual void start_collective(const CollectiveId& id,
                                std::span<const int> members,
                                const NumberBuffer& buffer) = 0;
  virtual Span wait_collective(const CollectiveId& id) = 0;

  // The vote of a step, over all ranks.
  virtual void start_vote(int step, const Ballot& ballot) = 0;
  virtual Ballot wait_vote(int step) = 0;

  // How far this rank has come, in whatever code the ranks share; and the
  // newest that is known of another. For messages about a missed deadline.
  virtual void report_progress(std::uint64_t progress) = 0;
  [[nodiscard]] virtual std::uint64_t progress_of(int rank) const = 0;
  // For how many seconds it has not been heard; 0 where it cannot be lost.
  [[nodiscard]] virtual double silence_of(int rank) const = 0;

  // Ends the run on every rank: all waits, now and later, throw AbortedError
  // with this reason. From any rank's thread; only the first reason counts.
  // Returns once no collective touches any buffer, and none will: a rank that
  // gives up calls it before its buffers go away.
  virtual void abort(const std::string& reason) noexcept = 0;
};

}  // namespace chimera
