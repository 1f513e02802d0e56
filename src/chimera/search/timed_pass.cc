#include "chimera/search/timed_pass.h"

#include <algorithm>

#include "chimera/base/check.h"

namespace chimera::ordering {

TimedPass::TimedPass(const Directed& directed)
    : directed_(directed),
      next_(directed.kinds.size()),
      arrival_(directed.kinds.size() * directed.most_micros),
      starts_(arrival_.size()),
      held_(directed.kinds.size() / kSlotOps),
      wake_(directed.workers),
      order_(directed.workers) {}

bool TimedPass::run(const std::vector<Ticks>& targets, const PassRule& rule) {
  targets_ = &targets;
  rule_ = rule;
  reset();
  Ticks now = 0;
  for (int left = directed_.actions; left > 0;) {
    if (wake_.earliest() == kNever) {
      if (!force(now)) return false;
      --left;
      continue;
    }
    now = wake_.earliest();
    const int worker = wake_.first();
    // Even without another pause the worker would end too late.
    if (now + rest_[worker] - directed_.deadline[worker] > rule_.most_excess) {
      return false;
    }
    if (look(worker, now)) --left;
  }
  return true;
}

void TimedPass::reset() {
  std::fill(arrival_.begin(), arrival_.end(), kNever);
  used_.assign(directed_.workers, 0);
  spared_.assign(directed_.workers, 0);
  free_at_ = directed_.release;
  rest_ = directed_.work;
  for (Next& next : next_) next.number = 0;
  for (int kind = 0; kind < static_cast<int>(next_.size()); ++kind) {
    look_up(kind);
    const Kind& it = directed_.kinds[kind];
    if (it.op != 0) continue;
    Held& held = held_[it.slot];
    held = {.reserve = it.micros > 0 ? it.size : 0};
    spared_[it.worker] += held.reserve;
  }
  for (int worker = 0; worker < directed_.workers; ++worker) {
    order_[worker].clear();
    const bool has_work =
        directed_.first_kind[worker] < directed_.first_kind[worker + 1];
    wake_.set(worker, has_work ? directed_.release[worker] : kNever);
  }
}

bool TimedPass::look(int worker, Ticks now) {
  sort_out(worker, now);
  const int kind =
      rule_.keeps_targets ? choose_by_target(now) : choose_by_list(now);
  if (kind == kNone) {
    wake_.set(worker, next_arrival_);
    return false;
  }
  begin(kind, now);
  return true;
}

// Divides the worker's next actions into ready_ and expected_, and sets
// next_arrival_.
void TimedPass::sort_out(int worker, Ticks now) {
  ready_.clear();
  expected_.clear();
  next_arrival_ = kNever;
  const int last = directed_.first_kind[worker + 1];
  for (int kind = directed_.first_kind[worker]; kind < last; ++kind) {
    const Next& next = next_[kind];
    if (next.target == kNever) continue;
    const bool has_arrived = next.arrival <= now;
    if (has_arrived && has_room(directed_.kinds[kind])) {
      ready_.push_back({next.target, kind});
      continue;
    }
    Ticks latest = next.target + rule_.tolerance;
    if (next.arrival != kNever) latest = std::max(latest, next.arrival);
    if (!has_arrived) next_arrival_ = std::min(next_arrival_, next.arrival);
    expected_.push_back({next.target, latest, next.arrival,
                         directed_.kinds[kind].takes, has_arrived});
  }
}

int TimedPass::choose_by_target(Ticks now) const {
  Ticks lowest = kNever;
  int chosen = kNone;
  for (const Ready& ready : ready_) {
    if (ready.target >= lowest || delays_others(ready, now)) continue;
    lowest = ready.target;
    chosen = ready.kind;
  }
  return chosen;
}

bool TimedPass::delays_others(const Ready& ready, Ticks now) const {
  const Kind& kind = directed_.kinds[ready.kind];
  for (const Expected& other : expected_) {
    if (other.target >= ready.target || other.waits_for_room) continue;
    if (now + kind.cost > other.latest) return true;
    if (kind.takes > 0 && other.takes > 0 &&
        used_[kind.worker] + kind.takes + other.takes > directed_.room) {
      return true;
    }
  }
  return false;
}

int TimedPass::choose_by_list(Ticks now) const {
  Ticks blocked = kNever;
  Ticks coming = kNever;
  for (const Expected& other : expected_) {
    if (other.waits_for_room) {
      if (rule_.room_is_urgent) blocked = std::min(blocked, other.target);
    } else if (other.arrival <= now + rule_.wait) {
      coming = std::min(coming, other.target);
    }
  }
  Ticks lowest = coming;
  int chosen = kNone;
  for (const Ready& ready : ready_) {
    const bool frees = directed_.kinds[ready.kind].op + 1 == kSlotOps;
    const Ticks key = frees ? std::min(ready.target, blocked) : ready.target;
    if (key >= lowest) continue;
    lowest = key;
    chosen = ready.kind;
  }
  return chosen;
}

// Called when all workers wait for one another's targets. Starts the ready
// action with the lowest target of all workers.
bool TimedPass::force(Ticks now) {
  Ready first{kNever, kNone};
  for (int worker = 0; worker < directed_.workers; ++worker) {
    sort_out(worker, now);
    for (const Ready& ready : ready_) {
      if (ready.target < first.target) first = ready;
    }
  }
  if (first.kind == kNone) return false;
  begin(first.kind, now);
  return true;
}

void TimedPass::begin(int kind, Ticks now) {
  const Kind& it = directed_.kinds[kind];
  const int number = next_[kind].number++;
  const Ticks end = now + it.cost;
  starts_[directed_.at(kind, number)] = now;
  order_[it.worker].push_back(kind);
  free_at_[it.worker] = end;
  rest_[it.worker] -= it.cost;
  wake_.set(it.worker, end);
  move_room(it);
  look_up(kind);
  const bool has_next = it.op + 1 < kSlotOps;
  if (has_next && next_[kind + 1].number == number) look_up(kind + 1);
  if (it.feeds != kNone) arrive(it.feeds, number, end + it.lag, now);
}

void TimedPass::look_up(int kind) {
  const Kind& it = directed_.kinds[kind];
  Next& next = next_[kind];
  const bool is_done = next.number == it.micros;
  if (is_done || (it.op > 0 && next_[kind - 1].number <= next.number)) {
    next.target = kNever;
    return;
  }
  const std::size_t at = directed_.at(kind, next.number);
  next.target = (*targets_)[at];
  next.arrival = it.is_fed ? arrival_[at] : 0;
}

void TimedPass::arrive(int kind, int number, Ticks at, Ticks now) {
  arrival_[directed_.at(kind, number)] = at;
  Next& next = next_[kind];
  if (next.number != number) return;
  next.arrival = at;
  const int worker = directed_.kinds[kind].worker;
  const Ticks look = std::max({at, free_at_[worker], now});
  if (look < wake_.of(worker)) wake_.set(worker, look);
}

bool TimedPass::has_room(const Kind& kind) const {
  if (kind.takes == 0) return true;
  if (rule_.keeps_targets) {
    return used_[kind.worker] + kind.takes <= directed_.room;
  }
  const std::int64_t others = spared_[kind.worker] - held_[kind.slot].reserve;
  return used_[kind.worker] + kind.takes + others + held_after(kind).reserve <=
         directed_.room;
}

// What the slot holds after an action of `kind` has ended.
TimedPass::Held TimedPass::held_after(const Kind& kind) const {
  Held held = held_[kind.slot];
  held.whole += kind.adds_whole;
  held.kept += kind.adds_kept;
  const int begun = next_[kind.filler].number + (kind.adds_whole > 0 ? 1 : 0);
  // A slot that holds nothing and has work left reserves room for one
  // activation. The list rule therefore never deadlocks.
  const bool needs_more = begun < kind.micros && held.whole == 0;
  const std::int64_t has = held.kept > 0 ? kind.kept : 0;
  held.reserve = needs_more ? kind.size - has : 0;
  return held;
}

void TimedPass::move_room(const Kind& kind) {
  Held& held = held_[kind.slot];
  const Held after = held_after(kind);
  used_[kind.worker] += kind.takes - kind.frees;
  spared_[kind.worker] += after.reserve - held.reserve;
  held = after;
}

CodeLists TimedPass::lists() const {
  CodeLists lists(directed_.workers);
  for (int worker = 0; worker < directed_.workers; ++worker) {
    for (const int kind : order_[worker]) {
      lists[worker].push_back(directed_.kinds[kind].code);
    }
    if (directed_.direction == Direction::kBackwards) {
      std::reverse(lists[worker].begin(), lists[worker].end());
    }
  }
  return lists;
}

}  // namespace chimera::ordering
