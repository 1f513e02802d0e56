#include "chimera/exec/recorder.h"

#include <utility>

namespace chimera {

Recorder::Recorder(const RecorderOptions& options, int rank)
    : options_(options), rank_(rank) {}

void Recorder::add(Event event, const Span& span) {
  if (!keeps_now()) return;
  keep(event, span);
}

void Recorder::keep(Event event, const Span& span) {
  const auto since_epoch = [this](Clock::time_point time) {
    return std::chrono::duration<double>(time - options_.epoch).count();
  };
  event.start = since_epoch(span.start);
  event.end = since_epoch(span.end);
  events_.push_back(event);
}

void Recorder::compute(const Action& action, int step, const Timing& timing,
                       int version) {
  const Event event{
      .action = action, .worker = rank_, .step = step, .version = version};
  const auto& [host, device] = timing;
  // Messages that have arrived since the last work are the input of this work.
  for (const auto& [message, span] : arrived_) {
    if (device.start) {
      mark(message, {device.start, device.start});
    } else {
      add(message, span);
    }
  }
  arrived_.clear();
  if (device.end) {
    mark(event, device);
    marked_.back().is_compute = true;
  } else {
    busy_s_ += seconds(host);
    add(event, host);
  }
}

void Recorder::message(const Action& send, int from, int step,
                       const Span& span) {
  arrived_.emplace_back(Event{.action = send, .worker = from, .step = step},
                        span);
}

void Recorder::collective(const Action& sum, int step, const Timing& timing) {
  const Event event{.action = sum, .worker = rank_, .step = step};
  if (timing.device.end) {
    mark(event, timing.device);
  } else {
    add(event, timing.host);
  }
}

void Recorder::read_marks() {
  for (const Marked& marked : marked_) {
    const Span span{marked.span.start->time(), marked.span.end->time()};
    if (marked.is_compute) busy_s_ += seconds(span);
    if (marked.is_kept) keep(marked.event, span);
  }
  marked_.clear();
}

void Recorder::vote(int step, const Span& span) {
  add({.action = {.op = Op::kN}, .worker = rank_, .step = step}, span);
}

void Recorder::begin_round(int round) {
  const int oldest = round - options_.most_steps;
  if (is_paused_ || events_.empty()) return;
  if (events_.front().step > oldest) return;
  std::erase_if(events_,
                [oldest](const Event& event) { return event.step <= oldest; });
}

void Recorder::forget(bool keeps_events) {
  read_marks();
  events_.clear();
  options_.keep_events = keeps_events;
}

double Recorder::take_busy_s() {
  read_marks();
  return std::exchange(busy_s_, 0);
}

}  // namespace chimera
