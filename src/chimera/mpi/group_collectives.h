// Collectives of one group and one kind, one after the other. Used by the
// communication thread.
// REQUIRES: all members start them in the same order.
//
// An all-reduce is cut into blocks that run their rounds (comm/all_reduce.h)
// independently, a few at a time. While one block is added others are on their
// way, the thread is never busy for long, and a few small receive buffers are
// enough. A block's number is its tag: all messages of one block between two
// members arrive in the order in which they were sent.
#pragma once

#include <array>
#include <deque>
#include <vector>

#include "chimera/comm/all_reduce.h"
#include "chimera/comm/transport.h"
#include "chimera/mpi/wire.h"

namespace chimera {

class GroupCollectives {
 public:
  using Done = std::function<void(const CollectiveId& id, const Span& span)>;

  // REQUIRES: `members` are ranks of the world, and rank i of `comm` is
  // members[i].
  GroupCollectives(Wire& wire, MPI_Comm comm, std::vector<int> members,
                   Done done);
  GroupCollectives(const GroupCollectives&) = delete;
  GroupCollectives& operator=(const GroupCollectives&) = delete;

  void start(const CollectiveId& id, const NumberBuffer& buffer);

  // The rank of the world that the current collective waits for; -1 if none.
  [[nodiscard]] int waits_for() const;

 private:
  static constexpr int kBlocks = 4;  // blocks in progress at once

  struct Task {
    CollectiveId id;
    NumberBuffer buffer;
    Clock::time_point started;
  };
  struct Block {
    bool is_open = false;
    std::size_t number = 0;
    std::vector<AllReduceRound> rounds;
    std::size_t round = 0;
    int under_way = 0;               // open messages of this round
    std::vector<std::byte> arrived;  // received, not yet added; reused
  };

  void begin();
  void begin_all_gather();
  void open_blocks();
  void begin_round(Block& block);
  void message_done(Block& block);
  void add_arrived(const Block& block);
  void finish_if_done();
  void clear_other_shards();

  [[nodiscard]] std::span<std::byte> bytes_of(const Range& range) const;

  Wire& wire_;
  MPI_Comm comm_;
  std::vector<int> members_;
  int mine_ = 0;  // index of this rank among the members
  Done done_;
  std::deque<Task> tasks_;  // the first task is running
  std::array<Block, kBlocks> blocks_;
  std::size_t next_element_ = 0;  // first element not yet in a block
  std::size_t next_block_ = 0;
  int unfinished_ = 0;  // open blocks, or open messages of an all-gather
};

}  // namespace chimera
