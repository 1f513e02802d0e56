// Messages go straight into the receiver's mailbox. A collective or a vote is
// gathered in Shared until its last member has started it. That member's thread
// then hands the sum to the pool, or merges the ballots itself, and the result
// is put into the mailboxes of all members. A rank thus waits only at its own
// mailbox, and abort() can wake every rank from any wait.
#include "chimera/comm/threads.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "chimera/base/check.h"
#include "chimera/comm/collective_pool.h"
#include "chimera/comm/comm_error.h"
#include "chimera/comm/mailbox.h"
#include "chimera/comm/sum_tree.h"

namespace chimera {
namespace {

// Contributions so far of the members of a collective, or of all ranks to a
// vote.
template <class T>
struct Gathering {
  std::vector<std::optional<T>> given;  // by member
  std::size_t missing = 0;

  void open(std::size_t members) {
    if (!given.empty()) return;
    given.resize(members);
    missing = members;
  }
  void give(std::size_t member, const T& part) {
    CHIMERA_CHECK(!given[member].has_value(), "started twice");
    given[member] = part;
    --missing;
  }
  [[nodiscard]] std::vector<T> all() const {
    std::vector<T> parts;
    for (const std::optional<T>& part : given) parts.push_back(*part);
    return parts;
  }
};

int collective_threads(int ranks) {
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  return std::min(ranks, static_cast<int>(cores));
}

}  // namespace

// State shared by the ranks. The mutex is held for bookkeeping only, never
// while numbers are added or a rank waits.
class ThreadsWorld::Shared {
 public:
  explicit Shared(const ThreadsOptions& options)
      : deadline(std::chrono::duration_cast<Clock::duration>(options.deadline)),
        links(options.links, options.ranks),
        mailboxes(options.ranks),
        progress(options.ranks),
        pool(collective_threads(options.ranks)) {}

  void start_collective(const CollectiveId& id, std::span<const int> members,
                        int rank, const NumberBuffer& buffer) {
    std::optional<CollectiveJob> job;
    {
      const std::lock_guard lock(mutex_);
      if (aborted_) return;
      Gathering<NumberBuffer>& gathering = collectives_[id];
      gathering.open(members.size());
      gathering.give(position(members, rank), buffer);
      if (gathering.missing > 0) return;
      std::vector<NumberBuffer> buffers = gathering.all();
      collectives_.erase(id);
      // Throws if the members' buffers differ in count or type. The job is
      // therefore counted only afterwards: abort() must not wait for a job that
      // never runs.
      job.emplace(id.kind, std::move(buffers));
      ++running_;
    }
    try {
      const Span planned = links.all_reduce(members, buffer.bytes());
      const std::vector<int> ranks(members.begin(), members.end());
      pool.run(std::move(*job), [=, this] {
        const Span span{planned.start, std::max(planned.end, Clock::now())};
        for (const int member : ranks) {
          mailboxes[member].put_collective(id, span);
        }
        end_collective();
      });
    } catch (...) {  // out of memory: the job will never run
      end_collective();
      throw;
    }
  }

  // ENSURES: no collective starts any more, and those that were running have
  // ended.
  void abort(const std::string& reason) {
    std::unique_lock lock(mutex_);
    aborted_ = true;
    for (Mailbox& mailbox : mailboxes) mailbox.abort(reason);
    idle_.wait(lock, [this] { return running_ == 0; });
  }

  void start_vote(const VoteId& id, int rank, const Ballot& ballot) {
    std::vector<Ballot> ballots;
    {
      const std::lock_guard lock(mutex_);
      Gathering<Ballot>& gathering = votes_[id];
      gathering.open(mailboxes.size());
      gathering.give(rank, ballot);
      if (gathering.missing > 0) return;
      ballots = gathering.all();
      votes_.erase(id);
    }
    for_each_join(static_cast<int>(ballots.size()), [&](int into, int from) {
      ballots[into] = merge(ballots[into], ballots[from]);
    });
    const Span span = links.vote();
    for (Mailbox& mailbox : mailboxes) {
      mailbox.put_vote(id, ballots[0], span);
    }
  }

  // The first member that has not started the collective; -1 if all have.
  int missing_member(const CollectiveId& id, std::span<const int> members) {
    const std::lock_guard lock(mutex_);
    const auto found = collectives_.find(id);
    if (found == collectives_.end()) return -1;
    return members[first_missing(found->second)];
  }
  int missing_voter(const VoteId& id) {
    const std::lock_guard lock(mutex_);
    const auto found = votes_.find(id);
    return found == votes_.end() ? -1 : first_missing(found->second);
  }

  [[nodiscard]] Clock::time_point next_deadline() const {
    return Clock::now() + deadline;
  }

  Clock::duration deadline;
  LinkClock links;
  std::vector<Mailbox> mailboxes;
  std::vector<std::atomic<std::uint64_t>> progress;

 private:
  void end_collective() {
    const std::lock_guard lock(mutex_);
    if (--running_ == 0) idle_.notify_all();
  }

  static std::size_t position(std::span<const int> members, int rank) {
    const auto found = std::find(members.begin(), members.end(), rank);
    CHIMERA_CHECK(found != members.end(), "not a member of its collective");
    return static_cast<std::size_t>(found - members.begin());
  }
  template <class T>
  static int first_missing(const Gathering<T>& gathering) {
    const auto missing =
        std::find(gathering.given.begin(), gathering.given.end(), std::nullopt);
    return static_cast<int>(missing - gathering.given.begin());
  }

  std::mutex mutex_;
  std::condition_variable idle_;
  int running_ = 0;  // collectives running; guarded by mutex_, like all below
  bool aborted_ = false;
  std::map<CollectiveId, Gathering<NumberBuffer>> collectives_;
  std::map<VoteId, Gathering<Ballot>> votes_;

 public:
  CollectivePool pool;  // declared last: its threads use all others
};

class ThreadsWorld::Rank final : public Transport {
 public:
  Rank(Shared& shared, int rank) : shared_(shared), rank_(rank) {}

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override {
    return static_cast<int>(shared_.mailboxes.size());
  }

  // Does nothing, because the sender hands over the payload itself.
  void post_receive(const MessageId& /*id*/, int /*from*/,
                    const PayloadMaker& /*make*/) override {}

  void send(const MessageId& id, int to, PayloadPtr payload) override {
    const Span span = shared_.links.message(rank_, to, payload->bytes().size());
    shared_.mailboxes[to].put_message(id, rank_, {std::move(payload), span});
  }

  Received receive(const MessageId& id, int from) override {
    std::optional<Received> message =
        mailbox().take_message(id, from, shared_.next_deadline());
    if (!message) throw TimeoutError("no message came", from);
    return std::move(*message);
  }

  void start_collective(const CollectiveId& id, std::span<const int> members,
                        const NumberBuffer& buffer) override {
    open_[id] = {members, buffer.device};
    shared_.start_collective(id, members, rank_, buffer);
  }

  Span wait_collective(const CollectiveId& id) override {
    const auto open = open_.find(id);
    CHIMERA_CHECK(open != open_.end(), "waits for what it has not begun");
    const std::optional<Span> span =
        mailbox().take_collective(id, shared_.next_deadline());
    if (!span) {
      throw TimeoutError("a gradient sum did not complete",
                         shared_.missing_member(id, open->second.members));
    }
    if (open->second.device) open->second.device->finish();
    open_.erase(open);
    return *span;
  }

  void start_vote(const VoteId& id, const Ballot& ballot) override {
    shared_.start_vote(id, rank_, ballot);
  }

  CountedVote wait_vote(const VoteId& id) override {
    const std::optional<CountedVote> result =
        mailbox().take_vote(id, shared_.next_deadline());
    if (!result) {
      throw TimeoutError("a vote did not complete", shared_.missing_voter(id));
    }
    return *result;
  }

  void report_progress(std::uint64_t progress) override {
    shared_.progress[rank_].store(progress, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t progress_of(int rank) const override {
    return shared_.progress[rank].load(std::memory_order_relaxed);
  }

  [[nodiscard]] double silence_of(int /*rank*/) const override { return 0; }

  void abort(const std::string& reason) noexcept override {
    shared_.abort(reason);
  }

 private:
  struct OpenCollective {
    std::span<const int> members;
    std::shared_ptr<DeviceNumbers> device;  // null: host memory
  };

  Mailbox& mailbox() { return shared_.mailboxes[rank_]; }

  Shared& shared_;
  int rank_;
  std::map<CollectiveId, OpenCollective> open_;
};

ThreadsWorld::ThreadsWorld(const ThreadsOptions& options)
    : shared_(std::make_unique<Shared>(options)) {
  for (int rank = 0; rank < options.ranks; ++rank) {
    ranks_.push_back(std::make_unique<Rank>(*shared_, rank));
  }
}

ThreadsWorld::~ThreadsWorld() = default;

Transport& ThreadsWorld::at(int rank) { return *ranks_[rank]; }

}  // namespace chimera
