#include "chimera/mpi/mpi_transport.h"

#include <atomic>
#include <future>
#include <map>
#include <optional>
#include <thread>

#include "chimera/comm/comm_error.h"
#include "chimera/comm/mailbox.h"
#include "chimera/mpi/communicators.h"
#include "chimera/mpi/engine.h"

namespace chimera {
namespace {

class MpiRank final : public MpiTransport {
  template <class Wait>
  auto waiting(const Wait& wait) {
    engine_.worker_waits = true;
    auto result = wait();
    engine_.worker_waits = false;
    return result;
  }

 public:
  explicit MpiRank(const MpiOptions& options)
      : options_(options),
        comms_(options.groups, options.messages),
        engine_(options_, comms_, mailbox_) {}

  [[nodiscard]] int rank() const override { return comms_.rank(); }
  [[nodiscard]] int size() const override { return comms_.ranks(); }

  void post_receive(const MessageId& id, int from,
                    const PayloadMaker& make) override {
    engine_.ask(PostReceive{id, from, make()});
  }

  void send(const MessageId& id, int to, PayloadPtr payload) override {
    // Starts the copy to host memory if the payload is on a device. The engine
    // sends the payload once the copy is there.
    payload->stage();
    engine_.ask(Send{id, to, std::move(payload)});
  }

  Received receive(const MessageId& id, int from) override {
    std::optional<Received> message =
        waiting([&] { return mailbox_.take_message(id, from, deadline()); });
    if (!message) fail("no message came", from);
    return std::move(*message);
  }

  void start_collective(const CollectiveId& id,
                        std::span<const int> /*members*/,
                        const NumberBuffer& buffer) override {
    if (!buffer.device) return engine_.ask(StartCollective{id, buffer});
    // The sum runs on the host, over a copy, which wait_collective() copies
    // back to the device.
    NumberBuffer staged = buffer.device->stage();
    staged.only_shard = buffer.only_shard;
    staged.device = buffer.device;
    on_devices_[id] = buffer.device;
    engine_.ask(StartCollective{id, staged});
  }

  Span wait_collective(const CollectiveId& id) override {
    const std::optional<Span> span =
        waiting([&] { return mailbox_.take_collective(id, deadline()); });
    if (!span) fail("a gradient sum did not complete", missing(id));
    if (const auto found = on_devices_.find(id); found != on_devices_.end()) {
      found->second->finish();
      on_devices_.erase(found);
    }
    return *span;
  }

  void start_vote(const VoteId& id, const Ballot& ballot) override {
    engine_.ask(StartVote{id, ballot});
  }

  CountedVote wait_vote(const VoteId& id) override {
    const std::optional<CountedVote> result =
        waiting([&] { return mailbox_.take_vote(id, deadline()); });
    if (!result) fail("a vote did not complete", missing(std::nullopt));
    return *result;
  }

  void report_progress(std::uint64_t progress) override {
    engine_.progress.store(progress, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t progress_of(int rank) const override {
    return rank == this->rank() ? engine_.progress.load()
                                : engine_.heartbeats().progress_of(rank);
  }
  [[nodiscard]] double silence_of(int rank) const override {
    return std::chrono::duration<double>(engine_.heartbeats().silence_of(rank))
        .count();
  }

  // Never returns: the monitor ends the process once the other ranks know.
  // Until then no memory is freed that they may still read.
  void abort(const std::string& /*reason*/) noexcept override {
    if (is_released_) return;
    const Cause cause = options_.handler.cause_of_exception();
    engine_.monitor().end_run({.kind = cause.kind,
                               .origin = rank(),
                               .reason = cause.reason,
                               .lost = cause.can_recover ? rank() : -1});
    wait_for_the_end();
  }

  void expect_kill(Clock::duration time_left) override {
    engine_.monitor().expect_kill(time_left);
  }

  void release(const std::string& reason) override {
    is_released_ = true;
    mailbox_.abort(reason);
  }

 private:
  [[noreturn]] static void wait_for_the_end() {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }

  // Called when a deadline has passed. A silent rank may be the cause: either
  // it is heard again, or the monitor declares it lost. The process then ends
  // or, if the run can be saved, the worker is released.
  [[noreturn]] void fail(const char* what, int peer) {
    const auto is_someone_silent = [this] {
      return engine_.heartbeats().longest_silence().second >
             Heartbeats::kSilent;
    };
    while (engine_.monitor().ending() || is_someone_silent()) {
      std::this_thread::sleep_for(Heartbeats::kPeriod);
      if (is_released_) throw AbortedError(what);
    }
    throw TimeoutError(what, peer);
  }

  [[nodiscard]] Clock::time_point deadline() const {
    return Clock::now() +
           std::chrono::duration_cast<Clock::duration>(options_.deadline);
  }

  // The rank that a collective, or else the vote, waits for; -1 if the
  // communication thread does not answer because it hangs inside MPI.
  int missing(const std::optional<CollectiveId>& collective) {
    const auto answer = std::make_shared<std::promise<int>>();
    engine_.ask(Question{collective, answer});
    std::future<int> rank = answer->get_future();
    const auto status = rank.wait_for(std::chrono::seconds(1));
    return status == std::future_status::ready ? rank.get() : -1;
  }

  const MpiOptions options_;
  std::atomic<bool> is_released_ = false;
  // Collectives under way whose numbers are a device's.
  std::map<CollectiveId, std::shared_ptr<DeviceNumbers>> on_devices_;
  Mailbox mailbox_;
  Communicators comms_;
  // Last member: its thread uses the members above until all peers have left.
  Engine engine_;
};

}  // namespace

std::unique_ptr<MpiTransport> make_mpi_transport(const MpiOptions& options) {
  return std::make_unique<MpiRank>(options);
}

}  // namespace chimera
