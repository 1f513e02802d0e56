#include "chimera/trace/chrome_read.h"

#include <gtest/gtest.h>

#include <sstream>

#include "chimera/trace/chrome.h"

namespace chimera {
namespace {

// Worker 0 computes, sends twice at once, sums and votes; worker 1 receives.
Trace example() {
  Trace trace{.workers = 2, .pipes = 2, .steps = 3};
  const auto add = [&](Action action, int worker, double start, double end) {
    trace.events.push_back({.action = action,
                            .worker = worker,
                            .step = 2,
                            .start = start,
                            .end = end});
  };
  add({.op = Op::kF, .pipe = 0, .stage = 0, .micro = 0}, 0, 0, 1);
  add({.op = Op::kF, .pipe = 1, .stage = 0, .micro = 1}, 0, 1, 2);
  add({.op = Op::kSF, .pipe = 0, .stage = 0, .micro = 0, .peer = 1}, 0, 1, 4);
  add({.op = Op::kSF, .pipe = 1, .stage = 0, .micro = 1, .peer = 1}, 0, 2, 3);
  add({.op = Op::kB, .part = 1, .pipe = 1, .stage = 1, .micro = 1}, 1, 3, 5);
  add({.op = Op::kG, .group = 3}, 0, 5, 6);
  add({.op = Op::kN}, 0, 6, 7);
  return trace;
}

std::string written(const Trace& trace) {
  std::ostringstream out;
  write_chrome_trace(trace, 1e6, out);
  return out.str();
}

TEST(ChromeRead, GivesBackWhatWasWritten) {
  const Result<Trace> read =
      read_chrome_trace(written(example()), "trace.json", 1e6);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, example());
}

TEST(ChromeRead, FileThatWasCutOffGivesItsBeginning) {
  const std::string text = written(example());
  const size_t middle = text.find(R"("name":"sum 3")");
  ASSERT_NE(middle, std::string::npos);
  const Result<Trace> read =
      read_chrome_trace(text.substr(0, middle), "trace.json", 1e6);
  ASSERT_TRUE(read);
  Trace expected = example();
  expected.events.resize(5);
  EXPECT_EQ(*read, expected);
}

TEST(ChromeRead, RefusesWhatHoldsNoEvents) {
  for (const char* text : {"", "[]", "{}", "[{\"ph\":\"X\"}]", "[1, 2"}) {
    EXPECT_FALSE(read_chrome_trace(text, "trace.json", 1)) << text;
  }
}

TEST(ChromeRead, PassesOverRecordsOfAbsurdWorkers) {
  const std::string text = R"([
{"ph":"X","cat":"F","pid":2000000000,"tid":0,"ts":0,"dur":1,"args":{"step":0}},
{"ph":"X","cat":"F","pid":-1,"tid":0,"ts":0,"dur":1,"args":{"step":0}},
{"ph":"X","cat":"??","pid":0,"tid":0,"ts":0,"dur":1,"args":{"step":0}},
{"ph":"X","cat":"F","pid":1,"tid":0,"ts":0,"dur":1,"args":{"step":0}}])";
  const Result<Trace> read = read_chrome_trace(text, "trace.json", 1);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->workers, 2);
  EXPECT_EQ(read->events.size(), 1u);
}

}  // namespace
}  // namespace chimera
