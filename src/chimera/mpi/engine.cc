#include "chimera/mpi/engine.h"

#include <sys/prctl.h>

#include <algorithm>

namespace chimera {
namespace {

// Idle polls before the thread sleeps: a poll often only advances a handshake.
constexpr int kPolls = 8;
// A sleep lasts a quarter of the time since the last event, within these
// bounds: short while messages come, cheap while a long computation runs. The
// values were measured: bench/results/2026-11-16_mpi_progress.md.
constexpr Clock::duration kShortestPause = std::chrono::microseconds(20);
constexpr Clock::duration kLongestPause = std::chrono::microseconds(500);
// The longest sleep while the worker waits: its core is then free, and every
// moment counts.
constexpr Clock::duration kLongestWaiting = std::chrono::microseconds(150);

std::vector<PeerMonitor::Process> processes(const Communicators& comms) {
  std::vector<PeerMonitor::Process> here;
  for (int rank = 0; rank < comms.ranks(); ++rank) {
    const int pid = comms.local_pid(rank);
    if (rank != comms.rank() && pid != 0) here.push_back({rank, pid});
  }
  return here;
}

// Whether the request's bytes may come from a device.
bool is_staged(const Request& request) {
  return std::holds_alternative<Send>(request) ||
         std::holds_alternative<StartCollective>(request);
}

bool is_ready(const Request& request) {
  if (const auto* send = std::get_if<Send>(&request)) {
    return send->payload->is_ready();
  }
  const auto& device = std::get<StartCollective>(request).buffer.device;
  return !device || device->is_ready();
}

}  // namespace

Engine::Engine(const MpiOptions& options, const Communicators& comms,
               Mailbox& mailbox)
    : options_(options),
      mailbox_(mailbox),
      comms_(comms),
      wire_(options.links, {comms.rank(), comms.ranks()}),
      heartbeats_(wire_, {.comm = comms.control(),
                          .peers = options.peers,
                          .on_ending =
                              [this](const Ending& ending) {
                                monitor_.end_run(ending);
                              }}),
      votes_(wire_, comms.control(),
             [this](const VoteId& id, const Ballot& result) {
               mailbox_.put_vote(id, result, {Clock::now(), Clock::now()});
             }),
      monitor_({.rank = comms.rank(),
                .processes = processes(comms),
                .longest_silence = std::chrono::duration_cast<Clock::duration>(
                    options.deadline)},
               heartbeats_, options.handler) {
  make_groups(comms);
  thread_ = std::thread([this] { run(); });
}

void Engine::make_groups(const Communicators& comms) {
  const auto done = [this](const CollectiveId& id, const Span& span) {
    mailbox_.put_collective(id, span);
  };
  for (std::size_t group = 0; group < options_.groups.size(); ++group) {
    const MPI_Comm comm = comms.group(group);
    const auto make = [&]() -> std::unique_ptr<GroupCollectives> {
      if (comm == MPI_COMM_NULL) return nullptr;
      return std::make_unique<GroupCollectives>(wire_, comm,
                                                options_.groups[group], done);
    };
    all_reduces_.push_back(make());
    all_gathers_.push_back(make());
  }
}

Engine::~Engine() {
  monitor_.allow_leaving();
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
  // Lets sleeps end on time instead of up to 50 us later.
  prctl(PR_SET_TIMERSLACK, 1000UL);
  try {
    while (!is_done()) {
      // Requests that wait for copies come first: they were made earlier.
      const bool began = begin_staged();
      const bool asked = take_requests() || began;
      const bool moved = wire_.advance();
      heartbeats_.send_due(progress);
      send_ending();
      if (asked || moved) {
        last_event_ = Clock::now();
        idle_polls_ = 0;
      } else if (++idle_polls_ >= kPolls) {
        sleep();
        idle_polls_ = 0;
      }
    }
  } catch (const std::exception&) {
    // Nothing can be sent without this thread, so the others learn of the end
    // from its silence.
    const Cause cause = options_.handler.cause_of_exception();
    monitor_.end_run({.kind = cause.kind, .reason = cause.reason});
  }
}

bool Engine::is_done() {
  const std::lock_guard lock(mutex_);
  if (!is_leaving_ || !asked_.empty() || !staged_.empty()) return false;
  heartbeats_.announce_leaving();
  return heartbeats_.have_all_left();
}

bool Engine::take_requests() {
  {
    const std::lock_guard lock(mutex_);
    taken_.swap(asked_);
  }
  if (taken_.empty()) return false;
  for (Request& request : taken_) {
    // Sends and collectives begin in the order in which they were asked for,
    // which their peers count on, so none may overtake one that still waits for
    // its copy. Posts, votes and questions need no copy and begin at once.
    if (is_staged(request) && (!staged_.empty() || !is_ready(request))) {
      staged_.push_back(std::move(request));
    } else {
      std::visit([this](auto& asked) { begin(asked); }, request);
    }
  }
  taken_.clear();
  return true;
}

bool Engine::begin_staged() {
  bool began = false;
  for (; !staged_.empty() && is_ready(staged_.front()); began = true) {
    std::visit([this](auto& asked) { begin(asked); }, staged_.front());
    staged_.pop_front();
  }
  return began;
}

// The address needs no step: both ends use an address in the same order, step
// after step, and MPI keeps that order.
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
  wire_.send(comms_.message(send.id.index, send.to), {send.to}, bytes,
             [payload = std::make_shared<PayloadPtr>(std::move(send.payload))](
                 const MPI_Status&) { payload->reset(); });
}

void Engine::begin(const StartCollective& start) {
  collectives_of(start.id).start(start.id, start.buffer);
}

void Engine::begin(const StartVote& vote) {
  votes_.start(vote.id, vote.ballot);
}

void Engine::begin(const Question& question) {
  question.answer->set_value(
      question.collective ? collectives_of(*question.collective).waits_for()
                          : votes_.waits_for());
}

// Sends on endings that another rank has reported, since its report may not
// have reached everybody.
void Engine::send_ending() {
  const std::optional<Ending> ending = monitor_.ending();
  if (!ending || ending->kind == sent_ending_) return;
  sent_ending_ = ending->kind;
  heartbeats_.send_ending(*ending);
}

Clock::duration Engine::pause() const {
  // Polls often while copies are open, because the end of a copy wakes no
  // thread.
  if (!staged_.empty()) return kShortestPause;
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
