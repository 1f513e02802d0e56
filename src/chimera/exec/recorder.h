// Records the events of one rank for the trace, and totals that are needed even
// without a trace.
#pragma once

#include <vector>

#include "chimera/comm/transport.h"
#include "chimera/trace/trace.h"

namespace chimera {

struct RecorderOptions {
  bool keep_events = false;
  // Number of newest steps whose events are kept.
  int most_steps = 50;
  Clock::time_point epoch;  // time 0 of the trace
};

class Recorder {
 public:
  Recorder(const RecorderOptions& options, int rank);

  void compute(const Action& action, int step, const Span& span, int version);
  // Records a message that this rank has received; `send` is the sender's
  // action.
  void message(const Action& send, int from, int step, const Span& span);
  void collective(const Action& sum, int step, const Span& span);
  void vote(int step, const Span& span);

  // While paused, nothing is recorded: evaluations have their own step numbers.
  void pause(bool paused) { is_paused_ = paused; }
  // Forgets the events of old steps.
  void begin_round(int round);
  // Forgets all events. `keep`: whether to record events from now on.
  void forget(bool keep);

  // Time in compute since the last call.
  [[nodiscard]] double take_busy_s();

  // Events without causes, which trace/merge.h adds.
  [[nodiscard]] const std::vector<Event>& events() const { return events_; }

 private:
  void add(Event event, const Span& span);

  RecorderOptions options_;
  int rank_;
  double busy_s_ = 0;
  bool is_paused_ = false;
  std::vector<Event> events_;
};

}  // namespace chimera
