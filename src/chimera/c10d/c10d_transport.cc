#include "chimera/c10d/c10d_transport.h"

#include <ATen/ATen.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>

#include "chimera/base/check.h"
#include "chimera/c10d/heartbeat.h"
#include "chimera/c10d/lane.h"
#include "chimera/comm/all_reduce.h"
#include "chimera/comm/comm_error.h"
#include "chimera/comm/mailbox.h"
#include "chimera/comm/sum_tree.h"

namespace chimera {
namespace {

using WorkPtr = c10::intrusive_ptr<c10d::Work>;
using Edge = std::pair<int, int>;  // (from, to)

// The interval at which a waiting worker checks for aborts and broken lines.
constexpr std::chrono::milliseconds kGlance{100};

// A line is a connection that can break: messages with a rank have that rank's
// number, votes and sums the numbers below.
constexpr int kVoteLine = -1;
int line_of_sum(int group) { return -2 - group; }

std::vector<int> peers_of(const C10dOptions& options) {
  std::set<int> peers{0};
  for (const auto& [edge, group] : options.edges) {
    peers.insert(edge.first);
    peers.insert(edge.second);
  }
  peers.erase(options.world->getRank());
  return {peers.begin(), peers.end()};
}

// The process group that connects this rank with a peer, and the peer's rank
// within that group.
struct Line {
  ProcessGroupPtr group;
  int peer = 0;
};

class C10dTransport final : public Transport {
 public:
  explicit C10dTransport(C10dOptions options);
  ~C10dTransport() override;

  int rank() const override { return options_.world->getRank(); }
  int size() const override { return options_.world->getSize(); }
  void post_receive(const MessageId& id, int from,
                    const PayloadMaker& make) override;
  void send(const MessageId& id, int to, PayloadPtr payload) override;
  Received receive(const MessageId& id, int from) override;
  void start_collective(const CollectiveId& id, std::span<const int> members,
                        const NumberBuffer& buffer) override;
  Span wait_collective(const CollectiveId& id) override;
  void start_vote(const VoteId& id, const Ballot& ballot) override;
  CountedVote wait_vote(const VoteId& id) override;
  void report_progress(std::uint64_t progress) override {
    heart_->progress.store(progress, std::memory_order_relaxed);
  }
  std::uint64_t progress_of(int rank) const override {
    return heart_->of(rank).progress;
  }
  double silence_of(int rank) const override {
    return heart_->of(rank).silence_s;
  }
  void abort(const std::string& reason) noexcept override;

 private:
  // A sum that is under way, its members and the process group it runs on.
  struct Sum {
    ProcessGroupPtr group;
    std::vector<int> members;
    int mine = 0;
    NumberBuffer buffer;
    at::Tensor numbers;  // a tensor over `buffer`
  };

  void connect();
  void note_broken(int line);
  [[nodiscard]] Line line_between(const Edge& edge) const;
  [[nodiscard]] at::Tensor tensor_of(std::span<std::byte> bytes) const;
  [[nodiscard]] Lane& lane_of(const Edge& edge);
  [[nodiscard]] std::unique_ptr<Lane> make_lane() const {
    return std::make_unique<Lane>(options_.device);
  }
  [[nodiscard]] c10::Stream stream_of_thread() const;
  // Marks the end of what this thread has queued on the device; null on the
  // CPU.
  [[nodiscard]] std::shared_ptr<c10::Event> end_of_work() const;

  // Calls `start` and returns its work; marks `line` broken and returns null if
  // it throws. Whoever waits on the line then sees that it is broken.
  template <class Start>
  [[nodiscard]] WorkPtr begin(int line, const Start& start);
  // Waits for `work` inside a job of `lane`. False, with `line` marked broken,
  // if it failed.
  [[nodiscard]] bool finish(Lane& lane, const WorkPtr& work, int line);
  // Runs inside a job of the sum's lane.
  [[nodiscard]] bool add_by_tree(Lane& lane, const Sum& sum, int line);
  [[nodiscard]] WorkPtr start_whole_sum(const Sum& sum) const;
  [[nodiscard]] std::vector<WorkPtr> start_gather(const Sum& sum, int line);
  void keep_own_shard(const Sum& sum) const;
  void stop(const std::string& reason);

  // Calls `take` until it returns a value. Throws once `line` is broken or the
  // deadline has passed; `peer` names the rank to blame.
  template <class Take, class Peer>
  auto wait_for(const char* what, int line, const Take& take, const Peer& peer);
  [[nodiscard]] bool is_broken(int line);
  [[nodiscard]] int suspect(const std::vector<int>& ranks) const;
  [[nodiscard]] std::chrono::milliseconds deadline_ms() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
        options_.deadline);
  }

  C10dOptions options_;
  Mailbox mailbox_;
  std::mutex mutex_;
  std::set<int> broken_;  // lines that failed; guarded by mutex_
  std::map<CollectiveId, std::vector<int>> members_;  // [sum under way]

  std::map<Edge, std::unique_ptr<Lane>> receives_;
  Lane sends_;
  std::vector<std::unique_ptr<Lane>> sums_;  // [group]; null as in options
  Lane votes_;
  std::unique_ptr<Heartbeat> heart_;
};

C10dTransport::C10dTransport(C10dOptions options)
    : options_(std::move(options)),
      sends_(options_.device),
      votes_(options_.device) {
  for (const auto& [edge, group] : options_.edges) {
    if (edge.second == rank()) receives_[edge] = make_lane();
  }
  for (const ProcessGroupPtr& group : options_.sums) {
    sums_.push_back(group ? make_lane() : nullptr);
  }
  connect();
  heart_ = std::make_unique<Heartbeat>(Heartbeat::Options{
      .store = options_.store,
      .rank = rank(),
      .peers = peers_of(options_),
      .on_abort = [this](const std::string& reason) { stop(reason); }});
}

C10dTransport::~C10dTransport() {
  // The last messages may still be on their way, unless the run was aborted.
  sends_.wait_idle();
  heart_.reset();
  stop("the transport is closed");
}

// Uses every group once, in the same order on all ranks. Backends connect a
// group at its first use, so a different order on two ranks could deadlock.
void C10dTransport::connect() {
  at::Tensor byte =
      at::zeros({1}, at::device(options_.device).dtype(at::kByte));
  std::vector<at::Tensor> tensors{byte};
  for (const auto& [edge, group] : options_.edges) {
    const Line line = line_between(edge);
    const WorkPtr work = edge.first == rank()
                             ? line.group->send(tensors, line.peer, 0)
                             : line.group->recv(tensors, line.peer, 0);
    work->wait(deadline_ms());
  }
  for (const ProcessGroupPtr& group : options_.sums) {
    if (group) group->allreduce(tensors)->wait(deadline_ms());
  }
  options_.world->allreduce(tensors)->wait(deadline_ms());
}

Line C10dTransport::line_between(const Edge& edge) const {
  const int other = edge.first == rank() ? edge.second : edge.first;
  const auto found = options_.edges.find(edge);
  if (found == options_.edges.end()) return {options_.world, other};
  // Groups number ranks ascending.
  return {found->second, other > rank() ? 1 : 0};
}

at::Tensor C10dTransport::tensor_of(std::span<std::byte> bytes) const {
  return at::from_blob(bytes.data(), {static_cast<std::int64_t>(bytes.size())},
                       at::device(options_.device).dtype(at::kByte));
}

// Finds the receive lane of an edge; edges that are rarely used get theirs at
// the first use.
Lane& C10dTransport::lane_of(const Edge& edge) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Lane>& lane = receives_[edge];
  if (!lane) lane = make_lane();
  return *lane;
}

c10::Stream C10dTransport::stream_of_thread() const {
  return c10::impl::VirtualGuardImpl(options_.device.type())
      .getStream(options_.device);
}

std::shared_ptr<c10::Event> C10dTransport::end_of_work() const {
  if (options_.device.is_cpu()) return nullptr;
  auto event = std::make_shared<c10::Event>(options_.device.type());
  event->record(stream_of_thread());
  return event;
}

bool C10dTransport::is_broken(int line) {
  const std::lock_guard lock(mutex_);
  return broken_.count(line) > 0;
}

void C10dTransport::note_broken(int line) {
  const std::lock_guard lock(mutex_);
  broken_.insert(line);
}

template <class Start>
WorkPtr C10dTransport::begin(int line, const Start& start) {
  try {
    return start();
  } catch (const std::exception&) {  // the connection is already lost
    note_broken(line);
    return {};
  }
}

bool C10dTransport::finish(Lane& lane, const WorkPtr& work, int line) {
  if (!work || !lane.begin_wait([work] { work->abort(); })) return false;
  bool done = false;
  try {
    done = work->wait(deadline_ms());
    // A device's backend does not block: wait() only makes this thread's stream
    // wait for the operation.
    lane.wait_for_device();
  } catch (const std::exception&) {  // lost connection or deadline
    note_broken(line);
  }
  lane.end_wait();
  return done;
}

void C10dTransport::post_receive(const MessageId& id, int from,
                                 const PayloadMaker& make) {
  const Edge edge{from, rank()};
  // A std::function must be copyable, which a PayloadPtr is not.
  const auto payload = std::make_shared<PayloadPtr>(make());
  const Line line = line_between(edge);
  std::vector<at::Tensor> tensors{tensor_of((*payload)->bytes())};
  const WorkPtr work =
      begin(from, [&] { return line.group->recv(tensors, line.peer, 0); });
  Lane& lane = lane_of(edge);
  lane.push([this, &lane, id, from, payload, work] {
    if (!finish(lane, work, from)) return;
    const Clock::time_point now = Clock::now();
    mailbox_.put_message(id, from, {std::move(*payload), {now, now}});
  });
}

void C10dTransport::send(const MessageId& /*id*/, int to, PayloadPtr payload) {
  const Line line = line_between({rank(), to});
  // The backend sends straight from the payload's memory, which must live until
  // the send is complete.
  const std::shared_ptr<Payload> kept = std::move(payload);
  std::vector<at::Tensor> tensors{tensor_of(kept->bytes())};
  const WorkPtr work =
      begin(to, [&] { return line.group->send(tensors, line.peer, 0); });
  sends_.push([this, kept, work, to] { (void)finish(sends_, work, to); });
}

template <class Take, class Peer>
auto C10dTransport::wait_for(const char* what, int line, const Take& take,
                             const Peer& peer) {
  const auto deadline = Clock::now() + deadline_ms();
  for (;;) {
    const auto glance = std::min<Clock::time_point>(
        deadline, Clock::now() + Clock::duration(kGlance));
    if (auto taken = take(glance)) return std::move(*taken);
    if (options_.while_waiting) options_.while_waiting();
    if (!is_broken(line) && Clock::now() < deadline) continue;
    // A rank that gives up announces why before its connections close.
    if (const auto reason = heart_->abort_reason()) throw AbortedError(*reason);
    throw TimeoutError(what, peer());
  }
}

Received C10dTransport::receive(const MessageId& id, int from) {
  return wait_for(
      "no message came", from,
      [&](Clock::time_point until) {
        return mailbox_.take_message(id, from, until);
      },
      [&] { return from; });
}

WorkPtr C10dTransport::start_whole_sum(const Sum& sum) const {
  std::vector<at::Tensor> tensors{sum.numbers};
  return sum.group->allreduce(tensors);
}

// Every member broadcasts its shard.
std::vector<WorkPtr> C10dTransport::start_gather(const Sum& sum, int line) {
  std::vector<WorkPtr> works;
  const int members = static_cast<int>(sum.members.size());
  for (int member = 0; member < members; ++member) {
    const Shard shard = shard_of(sum.buffer.count, member, members);
    if (shard.begin == shard.end) continue;
    std::vector<at::Tensor> tensors{
        sum.numbers.slice(0, static_cast<std::int64_t>(shard.begin),
                          static_cast<std::int64_t>(shard.end))};
    c10d::BroadcastOptions from;
    from.rootRank = member;
    works.push_back(
        begin(line, [&] { return sum.group->broadcast(tensors, from); }));
  }
  return works;
}

bool C10dTransport::add_by_tree(Lane& lane, const Sum& sum, int line) {
  const auto part = [&](const Range& range) {
    return sum.numbers.slice(0, static_cast<std::int64_t>(range.begin),
                             static_cast<std::int64_t>(range.end));
  };
  for (const AllReduceRound& round :
       all_reduce_rounds(sum.mine, static_cast<int>(sum.members.size()),
                         {0, sum.buffer.count})) {
    at::Tensor into = part(round.receive);
    at::Tensor arrived = round.adds ? at::empty_like(into) : into;
    std::vector<at::Tensor> from{arrived};
    std::vector<at::Tensor> to{part(round.send)};
    WorkPtr coming;
    WorkPtr going;
    const bool receives = round.receive.size() > 0;
    const bool sends = round.send.size() > 0;
    if (receives) {
      coming =
          begin(line, [&] { return sum.group->recv(from, round.peer, 0); });
    }
    if (sends) {
      going = begin(line, [&] { return sum.group->send(to, round.peer, 0); });
    }
    if (receives && !finish(lane, coming, line)) return false;
    if (sends && !finish(lane, going, line)) return false;
    if (receives && round.adds) into.add_(arrived);
  }
  return true;
}

void C10dTransport::keep_own_shard(const Sum& sum) const {
  const Shard own = shard_of(sum.buffer.count, sum.mine,
                             static_cast<int>(sum.members.size()));
  sum.numbers.slice(0, 0, static_cast<std::int64_t>(own.begin)).zero_();
  sum.numbers.slice(0, static_cast<std::int64_t>(own.end)).zero_();
}

void C10dTransport::start_collective(const CollectiveId& id,
                                     std::span<const int> members,
                                     const NumberBuffer& buffer) {
  Sum sum{.group = options_.sums.at(id.group),
          .members = {members.begin(), members.end()},
          .buffer = buffer};
  CHIMERA_CHECK(sum.group != nullptr, "not a member of its collective");
  const auto mine = std::find(members.begin(), members.end(), rank());
  sum.mine = static_cast<int>(mine - members.begin());
  sum.numbers = at::from_blob(
      buffer.data, {static_cast<std::int64_t>(buffer.count)},
      at::device(options_.device)
          .dtype(buffer.type == NumberType::kFloat32 ? at::kFloat
                                                     : at::kDouble));
  members_[id] = sum.members;
  // Backend collectives are started here, on the worker's thread, because all
  // members must start them in the order of their lists.
  std::vector<WorkPtr> works;
  const bool is_sum = id.kind == CollectiveId::Kind::kAllReduce;
  const int line = line_of_sum(id.group);
  if (!is_sum) works = start_gather(sum, line);
  if (is_sum && !options_.exact) {
    works.push_back(begin(line, [&] { return start_whole_sum(sum); }));
  }
  Lane& lane = *sums_[id.group];
  lane.push([this, &lane, id, is_sum, sum, works, line, ready = end_of_work(),
             started = Clock::now()] {
    bool done = true;
    if (ready) ready->block(stream_of_thread());
    for (const WorkPtr& work : works) {
      done = done && finish(lane, work, line);
    }
    if (is_sum && options_.exact) done = done && add_by_tree(lane, sum, line);
    if (!done) return;
    if (is_sum && sum.buffer.only_shard) keep_own_shard(sum);
    lane.wait_for_device();
    mailbox_.put_collective(id, {started, Clock::now()});
  });
}

// The rank that the others wait for: one whose heartbeat has stopped, or else
// the one with the least progress. Sleeps for a few heartbeats first, so that
// dead ranks are silent long enough to be recognised.
int C10dTransport::suspect(const std::vector<int>& ranks) const {
  std::this_thread::sleep_for(3 * Heartbeat::kPause);
  int found = -1;
  bool found_quiet = false;
  Heartbeat::Beat worst;
  for (const int each : ranks) {
    if (each == rank()) continue;
    const Heartbeat::Beat beat = heart_->of(each);
    const bool quiet =
        std::chrono::duration<double>(beat.silence_s) > 2 * Heartbeat::kPause;
    const bool worse = quiet == found_quiet
                           ? (quiet ? beat.silence_s > worst.silence_s
                                    : beat.progress < worst.progress)
                           : quiet;
    if (found >= 0 && !worse) continue;
    found = each;
    found_quiet = quiet;
    worst = beat;
  }
  return found;
}

Span C10dTransport::wait_collective(const CollectiveId& id) {
  const auto members = members_.find(id);
  CHIMERA_CHECK(members != members_.end(), "waits for what it has not begun");
  const Span span = wait_for(
      "a gradient sum did not complete", line_of_sum(id.group),
      [&](Clock::time_point until) {
        return mailbox_.take_collective(id, until);
      },
      [&] { return suspect(members->second); });
  members_.erase(members);
  return span;
}

void C10dTransport::start_vote(const VoteId& id, const Ballot& ballot) {
  // All ballots are gathered and merged here, by the tree of all transports: a
  // backend's all-reduce knows neither that order nor the minimum that one
  // field needs.
  static_assert(sizeof(Ballot) == 8 * sizeof(double));
  constexpr std::int64_t kNumbers = sizeof(Ballot) / sizeof(double);
  const at::Tensor mine = at::empty({kNumbers}, at::kDouble);
  std::memcpy(mine.data_ptr(), &ballot, sizeof ballot);
  std::vector<at::Tensor> given{mine.to(options_.device)};
  std::vector<std::vector<at::Tensor>> all(1);
  for (int each = 0; each < size(); ++each) {
    all[0].push_back(at::empty_like(given[0]));
  }
  const WorkPtr work =
      begin(kVoteLine, [&] { return options_.world->allgather(all, given); });
  votes_.push([this, id, work, ballots = all[0], started = Clock::now()] {
    if (!finish(votes_, work, kVoteLine)) return;
    std::vector<Ballot> parts(ballots.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const at::Tensor numbers = ballots[i].cpu();
      std::memcpy(&parts[i], numbers.data_ptr(), sizeof(Ballot));
    }
    for_each_join(static_cast<int>(parts.size()), [&](int into, int from) {
      parts[into] = merge(parts[into], parts[from]);
    });
    mailbox_.put_vote(id, parts[0], {started, Clock::now()});
  });
}

CountedVote C10dTransport::wait_vote(const VoteId& id) {
  std::vector<int> all(size());
  for (int each = 0; each < size(); ++each) all[each] = each;
  return wait_for(
      "a vote did not complete", kVoteLine,
      [&](Clock::time_point until) { return mailbox_.take_vote(id, until); },
      [&] { return suspect(all); });
}

// Ends all waits of this rank. A backend's collectives cannot be cancelled:
// they end when a peer's connection closes or at their deadline.
void C10dTransport::stop(const std::string& reason) {
  mailbox_.abort(reason);
  {
    const std::lock_guard lock(mutex_);
    for (auto& [edge, lane] : receives_) lane->cancel();
  }
  sends_.cancel();
  votes_.cancel();
  for (const auto& lane : sums_) {
    if (lane) lane->cancel();
  }
}

void C10dTransport::abort(const std::string& reason) noexcept {
  heart_->announce_abort(reason);
  stop(reason);
  // Waits until all ranks have read the reason: this process may host the
  // store, which ends with it.
  std::this_thread::sleep_for(2 * Heartbeat::kPause);
  for (const auto& lane : sums_) {
    if (lane) lane->wait_idle();
  }
}

}  // namespace

std::unique_ptr<Transport> make_c10d_transport(C10dOptions options) {
  return std::make_unique<C10dTransport>(std::move(options));
}

}  // namespace chimera
