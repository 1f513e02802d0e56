// Communication between workers: messages, gradient sums, the vote.
#include <algorithm>

#include "chimera/simulate/simulator.h"

namespace chimera::simulating {
namespace {

bool has_card_limit(const Costs& costs) {
  return !costs.sum_time && costs.sums && costs.sums->node_time_per_byte > 0;
}

// The sum that `action` starts, whichever member's it is.
Action sum_of(const Action& action) {
  return {.op = Op::kG, .micro = action.micro, .group = action.group};
}

}  // namespace

bool Simulator::wait_for(Arrival& arrival, int worker) {
  if (arrival.known()) return true;
  arrival.waiting.push_back(worker);
  return false;
}

void Simulator::announce(Arrival& arrival, double at, std::int32_t event) {
  arrival.at = at;
  arrival.event = event;
  for (const int worker : arrival.waiting) queue_.wake_at(at, worker);
  arrival.waiting.clear();
}

void Simulator::send(int worker, const Action& action, int step) {
  const bool forward = action.op == Op::kSF;
  const size_t made =
      forward ? index_.activation(action.stage, action.micro)
              : index_.gradient(action.stage, action.micro, action.part);
  // A boundary belongs to the stage below it. The gradient that crosses it has
  // as many bytes as the activation, or half as many in a halved backward.
  const int below = forward ? action.stage : action.stage - 1;
  const double bytes =
      costs_.stages[below].boundary_bytes / (forward ? 1 : schedule_.parts);
  auto [occupied, latency] = message_time(costs_,
                                          {.from = worker,
                                           .to = action.peer,
                                           .workers = schedule_.workers(),
                                           .width = schedule_.width},
                                          bytes);
  const double slower = jitter_.factor(action, step);
  occupied *= slower;
  latency *= slower;
  WorkerState& state = workers_[worker];
  Ready ready{queue_.now(), state.last_event};
  if (costs_.blocking_sends) ready.after(state.free_at, state.last_event);
  if (occupied > 0) {
    Links::Use& link = links_(worker, action.peer);
    ready.after(link.free_at, link.last);
    link.free_at = ready.at + occupied;
    // The event that is recorded below.
    link.last = static_cast<std::int32_t>(result_.trace.events.size());
  }
  const double arrival = ready.at + occupied + latency;
  MessageArrival& message = messages_[made_index(made, step)];
  message.event = record(action, worker, step, ready, arrival);
  message.at = arrival;
  if (costs_.blocking_sends) {
    state.free_at = ready.at + occupied;
    state.last_event = message.event;
  }
  if (message.waiting != kNone) queue_.wake_at(arrival, message.waiting);
}

void Simulator::start_sum(int worker, const Action& action, int step) {
  const size_t index = sum_index(action.group, action.micro, step);
  workers_[worker].open_sums.push_back(static_cast<int>(index));
  if (--sums_[index].missing == 0) run_sum(worker, action, step);
}

// Returns the end of a sum that may start at `start` and shares its members'
// network cards with others. A card serves sums in the order in which they
// become ready. A sum alone takes its own time; several that are ready together
// end when the card has passed all their bytes.
double Simulator::share_cards(int group, double start, double slower) {
  const std::vector<int>& members = holders_[group];
  double begin = start;
  for (const int worker : members) {
    begin = std::max(begin, card_free_at_[worker]);
  }
  const double passed = begin + card_times_[group] * slower;
  for (const int worker : members) card_free_at_[worker] = passed;
  return std::max(start + sum_times_[group] * slower, passed);
}

// Runs a sum once all members have started it. The sum occupies the links
// between them in both directions, and with several copies also a worker's
// links to its copies. If network cards have a limit, it occupies the cards
// instead, or nothing if it stays within a node.
void Simulator::run_sum(int starter, const Action& action, int step) {
  const std::vector<int>& members = holders_[action.group];
  const double slower = jitter_.factor(sum_of(action), step);
  const double time = sum_times_[action.group] * slower;
  Ready ready{queue_.now(), workers_[starter].last_event};
  const auto each_link = [&](const auto& use) {
    for (const int from : members) {
      for (const int to : members) {
        if (from != to || schedule_.width > 1) use(links_(from, to));
      }
    }
  };
  const bool has_cards = card_times_[action.group] > 0;
  const bool occupies = time > 0 && !has_cards && !has_card_limit(costs_);
  if (occupies) {
    each_link([&](Links::Use& link) { ready.after(link.free_at, link.last); });
  }
  const double end =
      has_cards ? share_cards(action.group, ready.at, slower) : ready.at + time;
  std::int32_t event = kNone;
  for (const int worker : members) {
    event = record(action, worker, step, ready, end);
  }
  if (occupies) {
    each_link([&](Links::Use& link) { link = {end, event}; });
  }
  announce(sums_[sum_index(action.group, action.micro, step)].done, end, event);
}

// True if no blocking send occupies the worker; otherwise it will be woken.
bool Simulator::has_sent(int worker) {
  const double free_at = workers_[worker].free_at;
  if (free_at <= queue_.now()) return true;
  queue_.wake_at(free_at, worker);
  return false;
}

bool Simulator::start_vote(int worker, const Action& action, int step) {
  WorkerState& state = workers_[worker];
  while (!state.open_sums.empty()) {
    Arrival& sum = sums_[state.open_sums.back()].done;
    if (!wait_for(sum, worker)) return false;
    if (sum.at > queue_.now()) {
      queue_.wake_at(sum.at, worker);
      return false;
    }
    state.open_sums.pop_back();
  }
  Vote& vote = votes_[step];
  vote.started[worker] = queue_.now();
  if (--vote.missing == 0) finish_vote(vote, action, step);
  return true;
}

void Simulator::finish_vote(Vote& vote, const Action& action, int step) {
  const double ranks =
      static_cast<double>(schedule_.workers()) * schedule_.width;
  const double end = queue_.now() + vote_time(costs_, ranks);
  std::int32_t event = kNone;
  for (int worker = 0; worker < schedule_.workers(); ++worker) {
    event = record(action, worker, step,
                   {vote.started[worker], workers_[worker].last_event}, end);
  }
  announce(vote.done, end, event);
}

// Everything after V waits for the vote. The rare case that a vote asks for
// other updates is not simulated.
bool Simulator::read_vote(int worker, int step) {
  Arrival& vote = votes_[step].done;
  if (!wait_for(vote, worker)) return false;
  if (vote.at > queue_.now()) {
    queue_.wake_at(vote.at, worker);
    return false;
  }
  WorkerState& state = workers_[worker];
  if (vote.at > state.free_at) {
    state.free_at = vote.at;
    state.last_event = vote.event;
  }
  return true;
}

}  // namespace chimera::simulating
