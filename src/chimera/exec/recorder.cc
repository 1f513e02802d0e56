#include "chimera/exec/recorder.h"

#include <utility>

namespace chimera {

Recorder::Recorder(const RecorderOptions& options, int rank)
    : options_(options), rank_(rank) {}

void Recorder::add(Event event, const Span& span) {
  if (!options_.keep_events || is_paused_) return;
  const auto since_epoch = [this](Clock::time_point time) {
    return std::chrono::duration<double>(time - options_.epoch).count();
  };
  event.start = since_epoch(span.start);
  event.end = since_epoch(span.end);
  events_.push_back(event);
}

void Recorder::compute(const Action& action, int step, const Span& span,
                       int version) {
  busy_s_ += std::chrono::duration<double>(span.end - span.start).count();
  add({.action = action, .worker = rank_, .step = step, .version = version},
      span);
}

void Recorder::message(const Action& send, int from, int step,
                       const Span& span) {
  add({.action = send, .worker = from, .step = step}, span);
}

void Recorder::collective(const Action& sum, int step, const Span& span) {
  add({.action = sum, .worker = rank_, .step = step}, span);
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

void Recorder::forget(bool keep) {
  events_.clear();
  options_.keep_events = keep;
}

double Recorder::take_busy_s() { return std::exchange(busy_s_, 0); }

}  // namespace chimera
