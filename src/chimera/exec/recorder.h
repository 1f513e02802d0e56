// What one rank did and when: events for the trace, and the totals that are
// kept even without one.
#pragma once

#include <vector>

#include "chimera/comm/transport.h"
#include "chimera/trace/trace.h"

namespace chimera {

struct RecorderOptions {
  bool keep_events = false;
  // Of a long run only the newest steps are kept.
  int most_steps = 50;
  Clock::time_point epoch;  // time 0 of the trace
};

class Recorder {
 public:
  Recorder(const RecorderOptions& options, int rank);

  void compute(const Action& action, int step, const Span& span, int version);
  // A message that this rank has received; `send` is the sender's action.
  void message(const Action& send, int from, int step, const Span& span);
  void collective(const Action& sum, int step, const Span& span);
  void vote(int step, const Span& span);

  // While paused, nothing is kept: evaluations count steps of their own.
  void pause(bool paused) { is_paused_ = paused; }
  // Forgets the events of old steps.
  void begin_round(int round);
  // Forgets all events; from now on they are kept or not.
  void forget(bool keep);

  // Time in compute since the last call.
  [[nodiscard]] double take_busy_s();

  // Without causes: trace/merge.h finds them.
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
