#include "chimera/search/replay.h"

#include <algorithm>
#include <utility>

namespace chimera::ordering {

Goal end_by(const Problem& problem, Ticks time) {
  return {std::vector<Ticks>(problem.workers, time), time};
}

Goal end_in_windows(const Problem& problem) {
  Goal goal;
  const Ticks busiest = problem.busiest();
  for (int worker = 0; worker < problem.workers; ++worker) {
    Ticks tail = kNever;
    for (const int slot : problem.slots_of[worker]) {
      tail = std::min(tail, problem.slots[slot].tail);
    }
    goal.target.push_back(problem.head[worker] + busiest + tail);
    goal.latest = std::max(goal.latest, goal.target.back());
  }
  return goal;
}

Replay::Replay(const Problem& problem, const Goal& goal)
    : problem_(problem),
      goal_(goal),
      start_(problem.workers),
      slot_end_(problem.slots.size(), 0) {
  for (const Slot& slot : problem.slots) {
    std::vector<Ticks>& starts = start_[slot.worker];
    starts.resize(starts.size() + static_cast<size_t>(kSlotOps) * slot.micros);
  }
}

bool Replay::run(const CodeLists& lists, Ticks limit) {
  const size_t codes = problem_.slots.size() * kSlotOps;
  done_.assign(codes * problem_.most_micros, kNone);
  count_.assign(codes, 0);
  position_.assign(problem_.workers, 0);
  free_at_.assign(problem_.workers, 0);
  rest_ = problem_.work;
  end_.assign(problem_.workers, 0);
  starts_ = 0;
  waiting_.clear();
  is_waiting_.assign(problem_.workers, true);
  for (int worker = problem_.workers - 1; worker >= 0; --worker) {
    waiting_.push_back(worker);
  }
  // The lists alone decide all times, so the workers may advance in any order:
  // each runs until an input is missing, and is woken once it is known.
  while (!waiting_.empty()) {
    const int worker = waiting_.back();
    waiting_.pop_back();
    is_waiting_[worker] = false;
    if (!advance(worker, lists[worker], limit)) return false;
  }
  for (int worker = 0; worker < problem_.workers; ++worker) {
    if (position_[worker] < static_cast<int>(lists[worker].size())) {
      return false;
    }
  }
  measure();
  return span_ <= limit;
}

Ticks Replay::input_at(int code, int number) const {
  const Slot& slot = problem_.slots[slot_of(code)];
  if (op_of(code) == kF && slot.previous != kNone) {
    const Ticks sent = done_[problem_.at(code_of(slot.previous, kF), number)];
    return sent == kNone ? kNever : sent + slot.from_previous;
  }
  // I begins with a recomputation (`ahead`), which does not need the gradient
  // yet.
  if (op_of(code) == kI && slot.next != kNone) {
    const Ticks sent = done_[problem_.at(code_of(slot.next, kI), number)];
    return sent == kNone ? kNever : sent + slot.from_next - slot.ahead;
  }
  return kNone;
}

// Runs a worker's list until an input is missing.
bool Replay::advance(int worker, const CodeList& list, Ticks limit) {
  // When the worker must have ended for the span to keep the limit. The replay
  // stops as soon as the work left would end later even without another wait.
  const Ticks latest = limit - goal_.latest + goal_.target[worker];
  Ticks now = free_at_[worker];
  Ticks rest = rest_[worker];
  int position = position_[worker];
  for (; position < static_cast<int>(list.size()); ++position) {
    const int code = list[position];
    const Slot& slot = problem_.slots[slot_of(code)];
    const int number = count_[code];
    const Ticks input = input_at(code, number);
    if (input == kNever) break;
    if (input > now) {
      now = input;
      if (now + rest > latest) return false;
    }
    start_[worker][position] = now;
    if (op_of(code) != kW) starts_ += static_cast<double>(now);
    now += slot.cost[op_of(code)];
    rest -= slot.cost[op_of(code)];
    done_[problem_.at(code, number)] = now;
    ++count_[code];
    wake_after(worker, code);
  }
  position_[worker] = position;
  free_at_[worker] = now;
  rest_[worker] = rest;
  return true;
}

void Replay::wake_after(int worker, int code) {
  const Slot& slot = problem_.slots[slot_of(code)];
  const int reached = op_of(code) == kF   ? slot.next
                      : op_of(code) == kI ? slot.previous
                                          : kNone;
  if (reached == kNone) return;
  const int other = problem_.slots[reached].worker;
  if (other == worker || is_waiting_[other]) return;
  is_waiting_[other] = true;
  waiting_.push_back(other);
}

void Replay::measure() {
  for (int slot = 0; slot < static_cast<int>(problem_.slots.size()); ++slot) {
    const Slot& it = problem_.slots[slot];
    if (it.micros == 0) continue;
    slot_end_[slot] = done_[problem_.at(code_of(slot, kW), it.micros - 1)];
  }
  span_ = 0;
  for (int worker = 0; worker < problem_.workers; ++worker) {
    end_[worker] = end_with_sums(problem_, worker, slot_end_);
    span_ = std::max(span_, excess(worker) + goal_.latest);
  }
}

double Replay::energy() const {
  double late = 0;
  for (int worker = 0; worker < problem_.workers; ++worker) {
    late += static_cast<double>(std::max<Ticks>(0, excess(worker)));
  }
  return static_cast<double>(span_) + late / problem_.workers +
         starts_ / problem_.actions;
}

void Replay::swap(Replay& other) {
  done_.swap(other.done_);
  start_.swap(other.start_);
  end_.swap(other.end_);
  std::swap(starts_, other.starts_);
  std::swap(span_, other.span_);
}

}  // namespace chimera::ordering
