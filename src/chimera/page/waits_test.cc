#include "chimera/page/waits.h"

#include <gtest/gtest.h>

#include "chimera/schedule/lower.h"
#include "chimera/schedule/scheme.h"
#include "chimera/simulate/simulate.h"

namespace chimera {
namespace {

Trace simulated(const std::string& scheme, int depth) {
  const Schedule schedule =
      lower(make_schedule({.scheme = scheme, .depth = depth, .micros = depth})
                .value());
  return simulate(schedule, uniform_costs(schedule, {.update = 0.5})).trace;
}

TEST(WorkerTimes, BusyAndWaitsFillTheStep) {
  for (const char* scheme : {"gpipe", "1f1b", "chimera", "zb-h1"}) {
    const Trace trace = simulated(scheme, 4);
    for (const WorkerTime& time : worker_times(trace)) {
      double total = time.busy();
      for (const Wait& wait : time.waits) total += wait.time;
      EXPECT_NEAR(total, makespan(trace), 1e-9) << scheme;
    }
  }
}

// Two workers, one micro-batch: F0 F1 B1 B0, then both update.
TEST(WorkerTimes, NamesWhomAWorkerWaitedFor) {
  const Schedule schedule = lower(
      make_schedule({.scheme = "gpipe", .depth = 2, .micros = 1}).value());
  const Trace trace = simulate(schedule, uniform_costs(schedule, {})).trace;
  const std::vector<WorkerTime> times = worker_times(trace);
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].forward, 1);
  EXPECT_EQ(times[0].backward, 2);
  EXPECT_EQ(times[0].waits, (std::vector<Wait>{{WaitReason::kGradient, 1, 3}}));
  EXPECT_EQ(times[1].waits,
            (std::vector<Wait>{{WaitReason::kEnded, kNone, 2},
                               {WaitReason::kActivation, 0, 1}}));
}

// A trace of two equal steps with an evaluation of length 100 between them.
TEST(WorkerTimes, LeaveOutWhatLiesBetweenSteps) {
  const Trace once = simulated("chimera", 4);
  Trace twice = once;
  const double later = makespan(once) + 100;
  const auto events = static_cast<std::int32_t>(once.events.size());
  for (Event event : once.events) {
    event.step = 1;
    event.start += later;
    event.end += later;
    if (event.cause != kNone) event.cause += events;
    twice.events.push_back(event);
  }
  for (const WorkerTime& time : worker_times(twice)) {
    double total = time.busy();
    for (const Wait& wait : time.waits) total += wait.time;
    EXPECT_NEAR(total, 2 * makespan(once), 1e-9);
  }
}

}  // namespace
}  // namespace chimera
