#include "chimera/schedule/list_scheduling/list_scheduler.h"

#include <algorithm>
#include <limits>

#include "chimera/base/check.h"

namespace chimera::ordering {
namespace {

constexpr double kWorst = std::numeric_limits<double>::infinity();

}  // namespace

// The best action a worker could start now, and the best one worth waiting for.
struct ListScheduler::Choice {
  double key = kWorst;
  int code = kNone;
  double weight_key = kWorst;
  int weight_code = kNone;
  double blocked_key = kWorst;  // best key of a forward that lacks memory
  double coming_key = kWorst;   // best key of an action worth waiting for
  Ticks coming_at = kNever;
  Ticks next_at = kNever;  // earliest arrival of any input

  void offer(double other, int other_code) {
    if (other < key) key = other, code = other_code;
  }
  void expect(double other, Ticks at, bool is_worth_waiting) {
    if (is_worth_waiting && other < coming_key) {
      coming_key = other;
      coming_at = at;
    }
    next_at = std::min(next_at, at);
  }
};

ListScheduler::ListScheduler(const Problem& problem)
    : problem_(problem), wake_(problem.workers) {
  CHIMERA_CHECK(problem.has_room(), "the cap is below one of each slot");
}

void ListScheduler::reset() {
  const size_t slots = problem_.slots.size();
  count_.assign(slots * kSlotOps, 0);
  arrival_.assign(slots * kSlotOps * problem_.most_micros, kNever);
  held_.assign(slots, {});
  slot_end_.assign(slots, 0);
  used_.assign(problem_.workers, 0);
  reserved_.assign(problem_.workers, 0);
  free_at_.assign(problem_.workers, 0);
  for (int slot = 0; slot < static_cast<int>(slots); ++slot) {
    const Slot& it = problem_.slots[slot];
    held_[slot].reserve = it.micros > 0 ? it.size : 0;
    reserved_[it.worker] += held_[slot].reserve;
    if (it.previous != kNone) continue;
    for (int number = 0; number < it.micros; ++number) {
      arrival_[problem_.at(code_of(slot, kF), number)] = 0;
    }
  }
  for (int worker = 0; worker < problem_.workers; ++worker) {
    wake_.set(worker, 0);
  }
}

void ListScheduler::run(const ListPolicy& policy, ListedOrder& order) {
  policy_ = &policy;
  reset();
  order.lists.resize(problem_.workers);
  for (CodeList& list : order.lists) list.clear();
  int begun = 0;
  while (wake_.earliest() < kNever) {
    const Ticks now = wake_.earliest();
    const int worker = wake_.first();
    const Choice choice = choose(worker, now);
    if (choice.coming_key < choice.key) {
      wake_.set(worker, choice.coming_at);
    } else if (choice.code == kNone) {
      wake_.set(worker, choice.next_at);
    } else {
      order.lists[worker].push_back(choice.code);
      begin(choice.code, now);
      ++begun;
    }
  }
  CHIMERA_CHECK_EQ(begun, problem_.actions);
  measure(order);
}

double ListScheduler::key(int code) const {
  return policy_->keys[problem_.at(code, count_[code])];
}

ListScheduler::Choice ListScheduler::choose(int worker, Ticks now) const {
  Choice choice;
  for (const int slot : problem_.slots_of[worker]) {
    offer_input_grad(slot, now, choice);
    offer_forward(slot, now, choice);
    offer_weight_grad(slot, choice);
  }
  if (choice.weight_code != kNone) {
    // A W frees the room for which the best blocked action waits, so it is as
    // urgent as that one.
    choice.offer(std::min(choice.weight_key, choice.blocked_key),
                 choice.weight_code);
  }
  return choice;
}

void ListScheduler::offer_input_grad(int slot, Ticks now,
                                     Choice& choice) const {
  const int code = code_of(slot, kI);
  const int number = count_[code];
  if (number == count_[code_of(slot, kF)]) return;
  const Ticks arrival = arrival_[problem_.at(code, number)];
  if (arrival == kNever) return;
  const Ticks at = arrival - problem_.slots[slot].ahead;
  weigh(code, at, now, choice);
}

// Offers an action that is ready, or records its arrival, or records that it
// waits for memory.
void ListScheduler::weigh(int code, Ticks at, Ticks now, Choice& choice) const {
  if (op_of(code) == problem_.holds_from && !may_hold_more(slot_of(code))) {
    if (policy_->room_is_urgent && at <= now) {
      choice.blocked_key = std::min(choice.blocked_key, key(code));
    }
  } else if (at <= now) {
    choice.offer(key(code), code);
  } else {
    choice.expect(key(code), at, at <= now + policy_->wait);
  }
}

bool ListScheduler::may_hold_more(int slot) const {
  const Held& held = held_[slot];
  const Slot& it = problem_.slots[slot];
  const std::int64_t own = held.whole * it.size + held.kept * it.kept;
  if (own > 0 && !policy_->quotas.empty() &&
      own + it.size > policy_->quotas[slot] * it.size) {
    return false;
  }
  // Counts the room without the slot's reserve: once the action runs, the slot
  // holds a whole activation (with recomputation, until the end of I) and needs
  // no reserve.
  return used_[it.worker] + it.size + reserved_[it.worker] - held.reserve <=
         problem_.room;
}

// The room to be kept free for a slot that has begun `begun` activations:
// enough for one more, unless the slot holds a whole one already. The room of
// an activation that it holds between I and W is subtracted, because running
// the W frees it.
std::int64_t ListScheduler::reserve_of(int slot, const Held& held,
                                       int begun) const {
  const Slot& it = problem_.slots[slot];
  if (begun == it.micros || held.whole > 0) return 0;
  return it.size - (held.kept > 0 ? it.kept : 0);
}

// Counts what an action takes and frees.
void ListScheduler::hold(int code) {
  const int self = slot_of(code);
  const Slot& slot = problem_.slots[self];
  Held& held = held_[self];
  std::int64_t& used = used_[slot.worker];
  if (op_of(code) == problem_.holds_from) {
    ++held.whole;
    used += slot.size;
  }
  if (op_of(code) == kI) {
    --held.whole;
    ++held.kept;
    used -= slot.size - slot.kept;
  } else if (op_of(code) == kW) {
    --held.kept;
    used -= slot.kept;
  }
  const int begun = count_[code_of(self, problem_.holds_from)];
  const std::int64_t reserve = reserve_of(self, held, begun);
  reserved_[slot.worker] += reserve - held.reserve;
  held.reserve = reserve;
}

void ListScheduler::offer_forward(int slot, Ticks now, Choice& choice) const {
  const int code = code_of(slot, kF);
  const int number = count_[code];
  if (number == problem_.slots[slot].micros) return;
  const Ticks at = arrival_[problem_.at(code, number)];
  if (at != kNever) weigh(code, at, now, choice);
}

void ListScheduler::offer_weight_grad(int slot, Choice& choice) const {
  const int code = code_of(slot, kW);
  if (count_[code] == count_[code_of(slot, kI)]) return;
  const double own = key(code);
  if (own < choice.weight_key) {
    choice.weight_key = own;
    choice.weight_code = code;
  }
}

void ListScheduler::begin(int code, Ticks now) {
  const int self = slot_of(code);
  const Slot& slot = problem_.slots[self];
  const int number = count_[code]++;
  const Ticks end = now + slot.cost[op_of(code)];
  free_at_[slot.worker] = end;
  wake_.set(slot.worker, end);
  hold(code);
  if (op_of(code) == kF) {
    if (slot.next != kNone) {
      arrive(code_of(slot.next, kF), number, end + slot.from_next);
    } else {
      arrive(code_of(self, kI), number, end + slot.ahead);
    }
  } else if (op_of(code) == kI) {
    if (slot.previous != kNone) {
      arrive(code_of(slot.previous, kI), number, end + slot.from_previous);
    }
  } else {
    slot_end_[self] = end;
  }
}

void ListScheduler::arrive(int code, int number, Ticks at) {
  arrival_[problem_.at(code, number)] = at;
  const Slot& slot = problem_.slots[slot_of(code)];
  const Ticks usable = op_of(code) == kI ? at - slot.ahead : at;
  const Ticks look = std::max(usable, free_at_[slot.worker]);
  if (look < wake_.of(slot.worker)) {
    wake_.set(slot.worker, look);
  }
}

void ListScheduler::measure(ListedOrder& order) const {
  order.span = 0;
  order.period = 0;
  order.lateness = 0;
  const Ticks busiest = problem_.busiest();
  for (int worker = 0; worker < problem_.workers; ++worker) {
    order.span =
        std::max(order.span, end_with_sums(problem_, worker, slot_end_));
    const Ticks time = free_at_[worker] - problem_.head[worker];
    order.period = std::max(order.period, time);
    order.lateness += std::max<Ticks>(0, time - busiest);
  }
}

}  // namespace chimera::ordering
