#include "chimera/trace/chrome.h"

#include <gtest/gtest.h>

#include <sstream>

namespace chimera {
namespace {

Event event(Op op, int worker, int stage, double start, double end) {
  return {.action = {.op = op, .pipe = 0, .stage = stage, .micro = 0},
          .worker = worker,
          .start = start,
          .end = end};
}

std::string written(const Trace& trace) {
  std::ostringstream out;
  write_chrome_trace(trace, 1000, out);
  return out.str();
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

Trace two_workers() {
  Trace trace{.workers = 2};
  trace.events.push_back(event(Op::kF, 0, 0, 0, 1));
  Event message = event(Op::kSF, 0, 0, 1, 1.5);
  message.action.peer = 1;
  trace.events.push_back(message);
  trace.events.push_back(event(Op::kF, 1, 1, 1.5, 2.5));
  return trace;
}

TEST(Chrome, ArrowsLeadFromMessageToItsCompute) {
  const std::string text = written(two_workers());
  EXPECT_EQ(count(text, R"("ph":"X")"), 3);
  EXPECT_EQ(count(text, R"("ph":"s")"), 1);
  EXPECT_EQ(count(text, R"("ph":"f")"), 1);
  EXPECT_EQ(count(text, R"("name":"to worker 1")"), 1);
  EXPECT_NE(text.find(R"("ts":1500,"dur":1000)"), std::string::npos);
}

// Copies send and receive the same messages in the same step.
TEST(Chrome, ArrowsStayWithinTheirCopy) {
  Trace trace = two_workers();
  trace.workers = 4;
  for (Event event : two_workers().events) {
    event.worker += 2;
    if (is_send(event.action.op)) event.action.peer += 2;
    trace.events.push_back(event);
  }
  const std::string text = written(trace);
  // The id of an arrow is the number of its message.
  for (const auto& [message, worker] : {std::pair(1, 1), std::pair(4, 3)}) {
    const std::string end = R"("ph":"f","bp":"e","name":"message",)"
                            R"("cat":"message","id":)" +
                            std::to_string(message);
    EXPECT_EQ(count(text, end + R"(,"pid":)" + std::to_string(worker) + ","), 1)
        << text;
  }
  EXPECT_EQ(count(text, R"("name":"to worker 1")"), 1);
  EXPECT_EQ(count(text, R"("name":"to worker 3")"), 1);
}

TEST(Chrome, MessagesUnderWayTogetherGetLanes) {
  Trace trace = two_workers();
  Event second = trace.events[1];
  second.action.micro = 1;
  second.start = 1.2;
  second.end = 1.7;
  trace.events.push_back(second);
  const std::string text = written(trace);
  EXPECT_EQ(count(text, "to worker 1 (2)"), 1);
}

TEST(Chrome, EveryLineIsWhole) {
  std::istringstream lines(written(two_workers()));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "[");
  while (std::getline(lines, line) && line != "]") {
    EXPECT_EQ(line.front(), '{');
    EXPECT_TRUE(line.ends_with("}") || line.ends_with("},")) << line;
  }
}

}  // namespace
}  // namespace chimera
