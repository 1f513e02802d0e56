// Records the events of one rank for the trace, and totals that are needed even
// without a trace.
#pragma once

#include <utility>
#include <vector>

#include "chimera/exec/time_mark.h"
#include "chimera/trace/trace.h"

namespace chimera {

struct RecorderOptions {
  bool keep_events = false;
  // Number of newest steps whose events are kept.
  int most_steps = 50;
  Clock::time_point epoch;  // time 0 of the trace
};

// The time of an action: by the host's clock, and by marks if a device does the
// work.
struct Timing {
  Span host;
  MarkedSpan device;
};

// Device work is timed by marks in the device's queue. They are read at the
// step's vote, for which the host waits anyway.
class Recorder {
 public:
  Recorder(const RecorderOptions& options, int rank);

  void compute(const Action& action, int step, const Timing& timing,
               int version);
  // Records a message that this rank has received; `send` is the sender's
  // action. On a device it arrives when the work that needs it begins.
  void message(const Action& send, int from, int step, const Span& span);
  void collective(const Action& sum, int step, const Timing& timing);
  void vote(int step, const Span& span);

  // While paused, nothing is recorded: evaluations have their own step numbers.
  void pause(bool paused) { is_paused_ = paused; }
  // Forgets the events of old steps.
  void begin_round(int round);
  // Forgets all events. `keeps_events`: whether to record from now on.
  void forget(bool keeps_events);

  // Time in compute since the last call. REQUIRES: devices have passed all
  // marks so far, or this call waits for them.
  [[nodiscard]] double take_busy_s();

  // Events without causes, which trace/merge.h adds.
  [[nodiscard]] const std::vector<Event>& events() {
    read_marks();
    return events_;
  }

 private:
  struct Marked {
    Event event;
    MarkedSpan span;
    bool is_compute = false;
    // Decided when the mark is made: it may be read while recording is paused.
    bool is_kept = false;
  };

  void add(Event event, const Span& span);
  void keep(Event event, const Span& span);
  void mark(const Event& event, const MarkedSpan& span) {
    marked_.push_back({.event = event, .span = span, .is_kept = keeps_now()});
  }
  [[nodiscard]] bool keeps_now() const {
    return options_.keep_events && !is_paused_;
  }
  void read_marks();
  [[nodiscard]] static double seconds(const Span& span) {
    return std::chrono::duration<double>(span.end - span.start).count();
  }

  RecorderOptions options_;
  int rank_;
  double busy_s_ = 0;
  bool is_paused_ = false;
  std::vector<Event> events_;
  std::vector<Marked> marked_;  // device events, not yet read
  // Messages that no work has used yet, and their times by the host's clock.
  std::vector<std::pair<Event, Span>> arrived_;
};

}  // namespace chimera
