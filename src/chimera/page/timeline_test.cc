#include "chimera/page/timeline.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "chimera/schedule/lower.h"
#include "chimera/schedule/scheme.h"
#include "chimera/simulate/simulate.h"
#include "chimera/trace/chrome.h"

namespace chimera {
namespace {

Schedule example() {
  return lower(
      make_schedule({.scheme = "chimera", .depth = 4, .micros = 4}).value());
}

Trace simulated(int steps) {
  const Schedule schedule = example();
  return simulate(schedule,
                  uniform_costs(schedule, {.update = 0.25, .latency = 0.125}),
                  {.steps = steps})
      .trace;
}

TEST(Timeline, OneStepStartsAtZeroAndItsPathIsWhole) {
  const Timeline timeline = step_timeline(simulated(3), 1);
  const std::vector<Event>& events = timeline.trace.events;
  double first = 1e9;
  for (const Event& event : events) first = std::min(first, event.start);
  EXPECT_EQ(first, 0);
  ASSERT_FALSE(timeline.path.empty());
  EXPECT_EQ(events[timeline.path.back()].end, makespan(timeline.trace));
  for (std::size_t i = 1; i < timeline.path.size(); ++i) {
    EXPECT_EQ(events[timeline.path[i]].cause, timeline.path[i - 1]);
  }
  for (std::size_t i = 1; i < events.size(); ++i) {
    EXPECT_LE(events[i - 1].worker, events[i].worker);
  }
}

TEST(Timeline, ShortenedFirstByMessagesThenByWorkers) {
  Timeline timeline = step_timeline(simulated(1), 0);
  const std::size_t all = timeline.trace.events.size();
  shorten(timeline, all);
  EXPECT_EQ(timeline.trace.events.size(), all);
  shorten(timeline, all - 1);
  EXPECT_TRUE(timeline.are_messages_left_out);
  EXPECT_EQ(timeline.trace.workers, 4);
  const std::size_t without = timeline.trace.events.size();
  shorten(timeline, without - 1);
  EXPECT_EQ(timeline.workers_left_out, 1);
  EXPECT_LT(timeline.trace.events.size(), without);
  for (const Event& event : timeline.trace.events) {
    EXPECT_LT(event.worker, 3);
    EXPECT_LT(event.cause, static_cast<int>(timeline.trace.events.size()));
  }
}

TEST(Timeline, ChoosesLastSlowestAndMedianOnce) {
  Trace trace{.workers = 1, .steps = 4};
  double start = 0;
  for (const double length : {5.0, 1.0, 3.0, 2.0}) {
    const int step = static_cast<int>(trace.events.size());
    trace.events.push_back({.action = {.op = Op::kF, .stage = 0, .micro = 0},
                            .step = step,
                            .start = start,
                            .end = start + length});
    start += length;
  }
  std::vector<std::string> titles;
  for (const Timeline& timeline : chosen_steps(trace)) {
    titles.push_back(timeline.title);
  }
  EXPECT_EQ(titles,
            (std::vector<std::string>{"step 4, the last of 4 traced",
                                      "step 1, the slowest of 4 traced",
                                      "step 3, of median length of 4 traced"}));
}

class RunTraceTest : public ::testing::Test {
 protected:
  void write(const Trace& trace) const {
    std::ofstream out(path_);
    write_chrome_trace(trace, 1e6, out);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::string path_ = std::filesystem::temp_directory_path() /
                      ("timeline_test_" + std::to_string(getpid()) + ".json");
};

// The causes that the simulator knows are found again, and so is the critical
// path.
TEST_F(RunTraceTest, ComesBackWithItsCriticalPath) {
  const Trace trace = simulated(2);
  write(trace);
  const Result<Trace> read = read_run_trace(path_, example());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->events.size(), trace.events.size());
  const auto length = [](const Trace& of) {
    double sum = 0;
    for (const int i : critical_path(of)) {
      sum += of.events[i].end - of.events[i].start;
    }
    return sum;
  };
  EXPECT_NEAR(length(*read), length(trace), 1e-6);
  EXPECT_NEAR(length(*read), makespan(trace), 1e-6);
}

TEST_F(RunTraceTest, RefusesATraceOfAnotherSchedule) {
  Trace trace = simulated(1);
  trace.events[0].action.stage = 4;
  write(trace);
  EXPECT_FALSE(read_run_trace(path_, example()));
  trace.events[0].action.stage = 0;
  trace.events[0].worker = 4;
  write(trace);
  EXPECT_FALSE(read_run_trace(path_, example()));
}

}  // namespace
}  // namespace chimera
