// The collectives of one group and one kind, one after the other: all members
// start them in one order. Driven by the Wire's thread.
//
// A sum is cut into blocks that run their rounds (sum_rounds.h) independently,
// a few at a time: while one is added up others are on their way, the thread is
// never busy for long, and what is received needs only a few small buffers.
#pragma once

#include <array>
#include <deque>
#include <vector>

#include "chimera/comm/sum_rounds.h"
#include "chimera/comm/transport.h"
#include "chimera/mpi/wire.h"

namespace chimera {

class GroupSums {
 public:
  using Done = std::function<void(const CollectiveId& id, const Span& span)>;

  // `comm` has the members in ascending order; `members` are their ranks in the
  // world.
  GroupSums(Wire& wire, MPI_Comm comm, std::vector<int> members, Done done);
  GroupSums(const GroupSums&) = delete;
  GroupSums& operator=(const GroupSums&) = delete;

  void start(const CollectiveId& id, const NumberBuffer& buffer);

  // Whom the collective at hand waits for, in the world; -1 if none.
  [[nodiscard]] int waits_for() const;

 private:
  static constexpr int kBlocks = 4;  // at once

  struct Task {
    CollectiveId id;
    NumberBuffer buffer;
    Clock::time_point started;
  };
  struct Block {
    bool is_open = false;
    std::size_t number = 0;
    std::vector<SumRound> rounds;
    std::size_t round = 0;
    int under_way = 0;               // messages of this round
    std::vector<std::byte> arrived;  // what is to be added; reused
  };

  void begin();
  void begin_gather();
  void open_blocks();
  void begin_round(Block& block);
  void message_done(Block& block);
  void add_arrived(const Block& block);
  void finish_if_done();
  void clear_others();

  [[nodiscard]] std::span<std::byte> bytes_of(const Range& range) const;

  Wire& wire_;
  MPI_Comm comm_;
  std::vector<int> members_;
  int mine_ = 0;  // which member this rank is
  Done done_;
  std::deque<Task> tasks_;  // the first one is at hand
  std::array<Block, kBlocks> blocks_;
  std::size_t next_element_ = 0;  // not yet in a block
  std::size_t next_block_ = 0;
  int left_ = 0;  // open blocks, or messages of a gather
};

}  // namespace chimera
