#include "chimera/mpi/engine.h"

#include <sys/prctl.h>

#include <algorithm>

namespace chimera {
namespace {

// Tags of the communicator for everything but messages and sums.
constexpr int kHeartTags = 0;
constexpr int kVoteTags = 2;

// A poll often only moves a handshake on: so many in vain before it sleeps.
constexpr int kPolls = 8;
// Then a quarter of the time since something last happened, within bounds:
// quick while messages come, cheap while a long computation runs. Measured:
// bench/results/2026-11-16_mpi_progress.md.
constexpr Clock::duration kShortestPause = std::chrono::microseconds(20);
constexpr Clock::duration kLongestPause = std::chrono::microseconds(500);
// While the worker waits its core is free, and every moment counts.
constexpr Clock::duration kLongestWaiting = std::chrono::microseconds(150);

std::vector<Watch::Process> processes(const Communicators& comms) {
  std::vector<Watch::Process> here;
  for (int rank = 0; rank < comms.ranks(); ++rank) {
    const int pid = comms.local_pid(rank);
    if (rank != comms.rank() && pid != 0) here.push_back({rank, pid});
  }
  return here;
}

}  // namespace

Engine::Engine(const MpiOptions& options, const Communicators& comms,
               Mailbox& mailbox)
    : options_(options),
      mailbox_(mailbox),
      comms_(comms),
      wire_(options.links, comms.ranks()),
      heart_(wire_,
             {.comm = comms.control(),
              .first_tag = kHeartTags,
              .peers = options.peers,
              .on_ending =
                  [this](const Ending& ending) { watch_.give_up(ending); }}),
      votes_(wire_, comms.control(), kVoteTags,
             [this](int step, const Ballot& result) {
               mailbox_.put_vote(step, result, {Clock::now(), Clock::now()});
             }),
      watch_(
          {.rank = comms.rank(),
           .processes = processes(comms),
           .silence =
               std::chrono::duration_cast<Clock::duration>(options.deadline),
           .silence_of = [this](int rank) { return heart_.silence_of(rank); },
           .progress_of = [this](int rank) { return heart_.progress_of(rank); },
           .own_longest_silence =
               [this] { return heart_.own_longest_silence(); },
           .forgive = [this] { heart_.forgive(); },
           .speak = options.speak,
           .leave = options.leave}) {
  make_groups(comms);
  thread_ = std::thread([this] { run(); });
}

void Engine::make_groups(const Communicators& comms) {
  const auto done = [this](const CollectiveId& id, const Span& span) {
    mailbox_.put_collective(id, span);
  };
  for (std::size_t group = 0; group < options_.groups.size(); ++group) {
    const MPI_Comm comm = comms.group(group);
    const auto make = [&]() -> std::unique_ptr<GroupSums> {
      if (comm == MPI_COMM_NULL) return nullptr;
      return std::make_unique<GroupSums>(wire_, comm, options_.groups[group],
                                         done);
    };
    sums_.push_back(make());
    gathers_.push_back(make());
  }
}

Engine::~Engine() {
  watch_.relax();
  {
    const std::lock_guard lock(mutex_);
    is_leaving_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Engine::ask(Request request) {
  {
    const std::lock_guard lock(mutex_);
    asked_.push_back(std::move(request));
  }
  wake_.notify_one();
}

void Engine::run() {
  // Sleeps end when they should, not up to 50 us later.
  prctl(PR_SET_TIMERSLACK, 1000UL);
  try {
    while (!is_done()) {
      const bool asked = take_requests();
      const bool moved = wire_.advance();
      heart_.beat(progress);
      tell_ending();
      if (asked || moved) {
        last_event_ = Clock::now();
        polls_in_vain_ = 0;
      } else if (++polls_in_vain_ >= kPolls) {
        sleep();
        polls_in_vain_ = 0;
      }
    }
  } catch (const std::exception&) {
    // This thread has failed, so nobody can be told: others will notice.
    const Cause cause = options_.cause();
    watch_.give_up({.exit_code = cause.exit_code, .reason = cause.reason});
  }
}

bool Engine::is_done() {
  const std::lock_guard lock(mutex_);
  if (!is_leaving_ || !asked_.empty()) return false;
  heart_.say_goodbye();
  return heart_.is_done();
}

bool Engine::take_requests() {
  {
    const std::lock_guard lock(mutex_);
    taken_.swap(asked_);
  }
  if (taken_.empty()) return false;
  for (Request& request : taken_) {
    std::visit([this](auto& asked) { begin(asked); }, request);
  }
  taken_.clear();
  return true;
}

// Both ends walk their lists in the same order for each message's index, step
// after step, and MPI keeps the order: the index alone is the address.
void Engine::begin(PostReceive& post) {
  const std::span<std::byte> into = post.into->bytes();
  wire_.receive(
      comms_.message(post.id.index, post.from), into,
      [this, id = post.id, from = post.from,
       payload = std::make_shared<PayloadPtr>(std::move(post.into))](
          const MPI_Status&) {
        const Clock::time_point now = Clock::now();
        mailbox_.put_message(id, from, {std::move(*payload), {now, now}});
      });
}

void Engine::begin(Send& send) {
  const std::span<const std::byte> bytes = send.payload->bytes();
  wire_.send(comms_.message(send.id.index, send.to), send.to, bytes,
             [payload = std::make_shared<PayloadPtr>(std::move(send.payload))](
                 const MPI_Status&) { payload->reset(); });
}

void Engine::begin(const StartCollective& start) {
  sums_of(start.id).start(start.id, start.buffer);
}

void Engine::begin(const StartVote& vote) {
  votes_.start(vote.step, vote.ballot);
}

void Engine::begin(const Question& question) {
  question.answer->set_value(question.collective
                                 ? sums_of(*question.collective).waits_for()
                                 : votes_.waits_for());
}

// Also what another rank told us: it may not have reached everybody.
void Engine::tell_ending() {
  const std::optional<Ending> ending = watch_.ending();
  if (!ending || ending->exit_code == told_) return;
  told_ = ending->exit_code;
  heart_.tell_all(*ending);
}

Clock::duration Engine::pause() const {
  const Clock::duration longest =
      worker_waits ? kLongestWaiting : kLongestPause;
  return std::clamp((Clock::now() - last_event_) / 4, kShortestPause, longest);
}

void Engine::sleep() {
  const Clock::time_point until =
      std::min(Clock::now() + pause(), wire_.next_due());
  std::unique_lock lock(mutex_);
  wake_.wait_until(lock, until, [this] { return !asked_.empty(); });
}

}  // namespace chimera
