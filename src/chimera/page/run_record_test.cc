#include "chimera/page/run_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chimera/page/facts.h"
#include "chimera/page/run_directory_for_tests.h"

namespace chimera {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing::TestRun;

std::string value_of(const std::vector<Fact>& facts, const std::string& label) {
  for (const Fact& fact : facts) {
    if (fact.label == label) return fact.value;
  }
  return "(absent)";
}

TEST(RunRecord, RefusesWhatIsNoRunDirectory) {
  const TestRun run;
  for (const std::string& path : {run.path(), run.path() + "/nowhere"}) {
    const Result<RunRecord> record = read_run(path, {});
    ASSERT_FALSE(record);
    EXPECT_EQ(record.errors()[0].code, "E411");
  }
}

TEST(RunRecord, HoldsPlanRunMemoryAndMarks) {
  const TestRun run;
  run.write_config();
  run.write_schedule();
  run.write_trace(3);
  run.add_steps(1, 3);
  run.write("state.json", R"({"state":"failed","step":3,"exit":5})");
  run.write("memory.json", R"({"peak_bytes":[1e6,2e6,2e6,1e6]})");
  run.write("flight/rank_2.txt", "rank 2: connection lost\nlast action\n");
  run.write("checkpoints/step-00000002/manifest.json", "{}");
  run.write("events.jsonl",
            "{\"step\":1,\"kind\":\"resume\",\"text\":\"from step 0\"}\n"
            "broken\n");
  run.write("machine.json",
            R"({"hosts":[{"name":"a","cores":2,"ranks":[0,1,2,3]}]})");

  const RunRecord record = read_run(run.path(), {}).value();
  EXPECT_TRUE(record.notes.empty());
  EXPECT_EQ(record.name, "run");
  EXPECT_EQ(record.marks,
            (std::vector<Mark>{{1, "resume", "from step 0"},
                               {2, "save", "checkpoint step-00000002"},
                               {3, "fault", "rank 2: connection lost"},
                               {3, "fault", "ended: failed, exit code 5"}}));
  ASSERT_GE(record.timelines.size(), 2u);
  EXPECT_EQ(record.timelines[0].kind, "planned");
  EXPECT_EQ(record.timelines[1].kind, "last");
  EXPECT_EQ(record.planned_times.size(), 4u);
  EXPECT_EQ(record.measured_times.size(), 4u);
  EXPECT_EQ(record.predicted_bytes.size(), 4u);

  MetricsFile metrics(run.file("metrics.jsonl"), 64);
  metrics.read_more();
  const std::vector<Fact> facts = facts_of(record, metrics.metrics());
  EXPECT_EQ(value_of(facts, "State"), "failed, exit 5");
  EXPECT_EQ(value_of(facts, "Steps"), "3 of 100");
  EXPECT_EQ(value_of(facts, "Tokens/s"), "1024");
  EXPECT_EQ(value_of(facts, "Bubble"), "25.0 %");
  EXPECT_EQ(value_of(facts, "Hosts"), "a");
  EXPECT_EQ(value_of(facts, "Most memory of a worker, measured"), "2 MB");
  EXPECT_EQ(value_of(facts, "Layers"), "6");
  EXPECT_EQ(value_of(facts, "Scheme"), "chimera");
}

// The flight recorders of an earlier attempt stay beside a run that went on.
TEST(RunRecord, FaultsStandWhereTheyHappened) {
  const TestRun run;
  run.write("flight/rank_1.txt", "rank 1: lost rank 2\n");
  run.write("events.jsonl",
            "{\"step\":2,\"kind\":\"fault\",\"text\":\"lost rank 2\"}\n");
  run.write("state.json", R"({"state":"failed","step":3,"exit":5})");
  EXPECT_EQ(read_run(run.path(), {}).value().marks,
            (std::vector<Mark>{{2, "fault", "lost rank 2"},
                               {3, "fault", "ended: failed, exit code 5"}}));
  run.write("events.jsonl", "");
  run.write("state.json", R"({"state":"done","step":9,"exit":0})");
  EXPECT_EQ(read_run(run.path(), {}).value().marks,
            (std::vector<Mark>{{9, "end", "ended: done, exit code 0"}}));
}

// state.json of a run that was killed still says that it runs.
TEST(Facts, TellTheLastSignOfLife) {
  const TestRun run;
  run.write("state.json", R"({"state":"running","step":3,"exit":0})");
  const RunRecord record = read_run(run.path(), {}).value();
  EXPECT_THAT(record.state.written,
              ::testing::MatchesRegex("....-..-..T..:..:..Z"));
  EXPECT_THAT(value_of(facts_of(record, Metrics(8)), "Last sign of life"),
              ::testing::MatchesRegex("....-..-.. ..:.. UTC"));
}

TEST(RunRecord, SaysWhatIsMissingInsteadOfFailing) {
  const TestRun run;
  run.write("state.json", "{\"state\":\"running\"");
  run.write("config.toml", "this is no TOML");
  const RunRecord record = read_run(run.path(), {}).value();
  EXPECT_THAT(record.notes, Contains(HasSubstr("config.toml")));
  EXPECT_THAT(record.notes, Contains(HasSubstr("schedule")));
  EXPECT_TRUE(record.timelines.empty());
  EXPECT_EQ(record.state.state, "running");
}

TEST(RunRecord, WithoutATraceShowsThePlanInUnits) {
  const TestRun run;
  run.write_config();
  run.write_schedule();
  const RunRecord record = read_run(run.path(), {}).value();
  ASSERT_EQ(record.timelines.size(), 1u);
  EXPECT_EQ(record.time_unit, "units");
  EXPECT_THAT(record.notes, Contains(HasSubstr("run.trace = true")));
}

TEST(RunRecord, TraceOfAnotherScheduleIsANote) {
  const TestRun run;
  run.write_config();
  run.write(
      "schedule.sched",
      to_sched(lower(make_schedule({.scheme = "gpipe", .depth = 2, .micros = 4})
                         .value())));
  run.write_trace(1);
  const RunRecord record = read_run(run.path(), {}).value();
  EXPECT_THAT(record.notes, Contains(HasSubstr("trace.json")));
  EXPECT_EQ(record.timelines.size(), 1u);
}

TEST(RunRecord, StaysWithinItsBudget) {
  const TestRun run;
  run.write_config();
  run.write_schedule();
  run.write_trace(3);
  const RunRecord record =
      read_run(run.path(), {.events = 60, .schedule_bytes = 10}).value();
  EXPECT_TRUE(record.schedule_text.empty());
  EXPECT_THAT(record.notes, Contains(HasSubstr("too long")));
  std::size_t events = 0;
  for (const Timeline& timeline : record.timelines) {
    events += timeline.trace.events.size();
  }
  EXPECT_LE(events, 60u);
  EXPECT_EQ(record.timelines.size(), 2u);
}

TEST(Facts, NumbersAreShort) {
  EXPECT_EQ(short_number(4096), "4096");
  EXPECT_EQ(short_number(1238528), "1.239 M");
  EXPECT_EQ(short_time(0.0123), "12.3 ms");
  EXPECT_EQ(short_time(61), "1:01 min");
  EXPECT_EQ(short_time(3661), "1:01:01 h");
  EXPECT_EQ(short_bytes(1.5e9), "1.5 GB");
  EXPECT_EQ(short_bytes(900), "900 B");
}

}  // namespace
}  // namespace chimera
