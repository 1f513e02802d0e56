#include "chimera/mpi/group_collectives.h"

#include <algorithm>

#include "chimera/mpi/tags.h"

namespace chimera {
namespace {

// A megabyte of float32: long enough for a link's full speed, and added within
// a tenth of a millisecond.
constexpr std::size_t kBlockElements = std::size_t{1} << 18;

template <class T>
void add(std::span<std::byte> into, const std::vector<std::byte>& more) {
  T* sum = reinterpret_cast<T*>(into.data());
  const T* other = reinterpret_cast<const T*>(more.data());
  for (std::size_t i = 0; i < into.size() / sizeof(T); ++i) sum[i] += other[i];
}

}  // namespace

GroupCollectives::GroupCollectives(Wire& wire, MPI_Comm comm,
                                   std::vector<int> members, Done done)
    : wire_(wire),
      comm_(comm),
      members_(std::move(members)),
      done_(std::move(done)) {
  MPI_Comm_rank(comm_, &mine_);
}

void GroupCollectives::start(const CollectiveId& id,
                             const NumberBuffer& buffer) {
  tasks_.push_back({id, buffer, Clock::now()});
  if (tasks_.size() == 1) begin();
}

void GroupCollectives::begin() {
  if (tasks_.front().id.kind == CollectiveId::Kind::kAllGather) {
    begin_all_gather();
  } else {
    next_element_ = 0;
    next_block_ = 0;
    open_blocks();
  }
  finish_if_done();
}

void GroupCollectives::open_blocks() {
  const std::size_t count = tasks_.front().buffer.count;
  for (Block& block : blocks_) {
    if (next_element_ == count) return;
    if (block.is_open) continue;
    const Range all{next_element_,
                    std::min(next_element_ + kBlockElements, count)};
    next_element_ = all.end;
    block.is_open = true;
    block.number = next_block_++ % kBlockTags;
    block.rounds =
        all_reduce_rounds(mine_, static_cast<int>(members_.size()), all);
    block.round = 0;
    ++unfinished_;
    begin_round(block);
  }
}

void GroupCollectives::begin_round(Block& block) {
  for (; block.round < block.rounds.size(); ++block.round) {
    const AllReduceRound& round = block.rounds[block.round];
    const MpiAddress peer{comm_, round.peer, static_cast<int>(block.number)};
    if (round.receive.size() > 0) {
      std::span<std::byte> into = bytes_of(round.receive);
      // Receives numbers to be added into a separate buffer, so that they do
      // not overwrite this member's own; numbers that replace those are
      // received in place.
      if (round.adds) {
        block.arrived.resize(into.size());
        into = block.arrived;
      }
      ++block.under_way;
      wire_.receive(peer, into,
                    [this, &block](const MPI_Status&) { message_done(block); });
    }
    if (round.send.size() > 0) {
      ++block.under_way;
      wire_.send(peer, {members_[round.peer]}, bytes_of(round.send),
                 [this, &block](const MPI_Status&) { message_done(block); });
    }
    if (block.under_way > 0) return;
  }
  block.is_open = false;
  --unfinished_;
}

void GroupCollectives::message_done(Block& block) {
  if (--block.under_way > 0) return;
  if (block.rounds[block.round].adds) add_arrived(block);
  ++block.round;
  begin_round(block);
  // A finished block frees its place for the next one.
  if (!block.is_open) open_blocks();
  finish_if_done();
}

void GroupCollectives::add_arrived(const Block& block) {
  const std::span<std::byte> into = bytes_of(block.rounds[block.round].receive);
  if (tasks_.front().buffer.type == NumberType::kFloat32) {
    add<float>(into, block.arrived);
  } else {
    add<double>(into, block.arrived);
  }
}

// Every member sends its own shard to every other member.
void GroupCollectives::begin_all_gather() {
  const int members = static_cast<int>(members_.size());
  const std::size_t count = tasks_.front().buffer.count;
  const auto one_done = [this](const MPI_Status&) {
    --unfinished_;
    finish_if_done();
  };
  const auto shard = [&](int member) {
    const Shard own = shard_of(count, member, members);
    return bytes_of({own.begin, own.end});
  };
  for (int member = 0; member < members; ++member) {
    if (member == mine_ || shard(member).empty()) continue;
    ++unfinished_;
    wire_.receive({comm_, member, kAllGatherTag}, shard(member), one_done);
  }
  if (shard(mine_).empty()) return;
  for (int member = 0; member < members; ++member) {
    if (member == mine_) continue;
    ++unfinished_;
    wire_.send({comm_, member, kAllGatherTag}, {members_[member]}, shard(mine_),
               one_done);
  }
}

void GroupCollectives::finish_if_done() {
  if (unfinished_ > 0 || tasks_.empty()) return;
  const Task task = tasks_.front();
  if (task.buffer.only_shard) clear_other_shards();
  tasks_.pop_front();
  done_(task.id, {task.started, Clock::now()});
  if (!tasks_.empty()) begin();
}

// Zeros everything of a whole sum except this member's shard.
void GroupCollectives::clear_other_shards() {
  const std::size_t count = tasks_.front().buffer.count;
  const Shard own = shard_of(count, mine_, static_cast<int>(members_.size()));
  for (const Range& other : {Range{0, own.begin}, Range{own.end, count}}) {
    std::ranges::fill(bytes_of(other), std::byte{0});
  }
}

int GroupCollectives::waits_for() const {
  for (const Block& block : blocks_) {
    if (block.is_open) return members_[block.rounds[block.round].peer];
  }
  return -1;
}

std::span<std::byte> GroupCollectives::bytes_of(const Range& range) const {
  const NumberBuffer& buffer = tasks_.front().buffer;
  const std::size_t width = buffer.type == NumberType::kFloat32 ? 4 : 8;
  return {static_cast<std::byte*>(buffer.data) + range.begin * width,
          range.size() * width};
}

}  // namespace chimera
