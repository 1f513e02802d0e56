#include "chimera/schedule/forms.h"

#include <gtest/gtest.h>

#include "chimera/schedule/cell.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/scheme.h"
#include "chimera/schedule/small_schedule_for_tests.h"
#include "chimera/schedule/validate.h"

namespace chimera {
namespace {

// Small schedules of every scheme, compute-only and lowered in two ways.
std::vector<Schedule> samples() {
  std::vector<Schedule> schedules;
  for (const Scheme& scheme : schemes()) {
    for (const int width : {1, 3}) {
      const Schedule schedule = testing::small_schedule(scheme, width);
      schedules.push_back(schedule);
      schedules.push_back(lower(schedule));
      schedules.push_back(lower(schedule, {.sync = Sync::kEnd,
                                           .recompute = true,
                                           .tied = scheme.is_synchronous(),
                                           .vote_gates_update = true}));
      schedules.push_back(
          lower(schedule, {.vote_gates_update = true, .late_vote = true}));
      schedules.push_back(lower(schedule, {.recompute = Recompute::first(2)}));
      schedules.push_back(lower(schedule, {.sync = Sync::kBlocking,
                                           .recompute = true,
                                           .recompute_late = true}));
    }
  }
  schedules.push_back(lower(make_schedule({.scheme = "chimera",
                                           .depth = 4,
                                           .micros = 6,
                                           .scale = Scale::kHalving})
                                .value()));
  // Schedules with pipes that no micro-batch goes through.
  for (const char* scheme : {"chimera", "gems"}) {
    const Schedule schedule =
        make_schedule({.scheme = scheme, .depth = 4, .micros = 1}).value();
    schedules.push_back(lower(schedule));
  }
  schedules.push_back(lower(
      make_schedule({.scheme = "gems", .depth = 3, .micros = 1}).value()));
  return schedules;
}

TEST(Forms, JsonRoundTrips) {
  for (const Schedule& schedule : samples()) {
    const Result<Schedule> read = parse_json(to_json(schedule), "a.json");
    ASSERT_TRUE(read.ok()) << to_string(read.errors()[0]);
    EXPECT_TRUE(*read == schedule) << schedule.scheme;
  }
}

TEST(Forms, SchedRoundTrips) {
  for (const Schedule& schedule : samples()) {
    const Result<Schedule> read = parse_sched(to_sched(schedule), "a.sched");
    ASSERT_TRUE(read.ok()) << to_string(read.errors()[0]);
    EXPECT_TRUE(*read == schedule) << schedule.scheme;
  }
}

TEST(Forms, CsvKeepsActionsPlacementAndGroups) {
  for (const Schedule& schedule : samples()) {
    const Result<Schedule> read = parse_csv(to_csv(schedule), "a.csv");
    ASSERT_TRUE(read.ok()) << to_string(read.errors()[0]);
    EXPECT_EQ(read->actions, schedule.actions) << schedule.scheme;
    EXPECT_EQ(read->placement, schedule.placement) << schedule.scheme;
    EXPECT_EQ(read->parts, schedule.parts);
    EXPECT_EQ(read->groups, schedule.groups);
    EXPECT_TRUE(validate(*read).empty()) << schedule.scheme;
  }
}

TEST(Forms, AreToldApart) {
  const Schedule schedule =
      make_schedule({.scheme = "1f1b", .depth = 2, .micros = 2}).value();
  EXPECT_TRUE(*parse_schedule(to_json(schedule), "f") == schedule);
  EXPECT_TRUE(*parse_schedule("# mine\n" + to_sched(schedule), "f") ==
              schedule);
  EXPECT_EQ(parse_schedule(to_csv(schedule), "f")->scheme, "custom");
  EXPECT_FALSE(parse_schedule(" \n", "f").ok());
}

TEST(Forms, ErrorsNameFileAndLine) {
  const Result<Schedule> json = parse_json(
      "{\"format\":\"chimera-schedule-1\",\n\"depht\":4,\n"
      "\"micros\":\"four\"}",
      "a.json");
  ASSERT_FALSE(json.ok());
  EXPECT_EQ(to_string(json.errors()[0]),
            "error[E104] a.json:2: key \"depht\" is not known; hint: did you "
            "mean \"depth\"?");
  EXPECT_EQ(to_string(json.errors()[1]),
            "error[E102] a.json:3: micros = a string must be a whole number");
  const Result<Schedule> sched = parse_sched(
      "chimera-schedule-1\ndepth 2\nmicros 1\nworker 0: 0F0 0X0\n", "a.sched");
  ASSERT_FALSE(sched.ok());
  EXPECT_EQ(to_string(sched.errors()[0]),
            "error[E105] a.sched:4: \"0X0\" is not an action; hint: write "
            "stage, op, micro-batch, like 3B2@1");
}

// A cell may name the highest int, and adding one to it must not overflow.
TEST(Forms, CsvNamesNoMoreThanItHolds) {
  for (const char* cell :
       {"0F0@2147483647", "2147483647F0", "0F2147483647", "F0@2147483647",
        "2147483647N", "2147483646F0@2147483646"}) {
    const Result<Schedule> read =
        parse_csv("0F0,0B0," + std::string(cell) + "\n", "a.csv");
    ASSERT_FALSE(read.ok()) << cell;
    EXPECT_EQ(read.errors()[0].code, "E107") << cell;
  }
}

TEST(Forms, ErrorsOfOneLineAreBounded) {
  for (const char* line : {"pipe 0:", "group 0:", "worker 0:"}) {
    std::string text = "chimera-schedule-1\ndepth 1\nmicros 1\n";
    text += line;
    for (int i = 0; i < 2000; ++i) text += " x";
    const Result<Schedule> read = parse_sched(text, "a.sched");
    ASSERT_FALSE(read.ok()) << line;
    EXPECT_EQ(read.errors().size(), 100u) << line;
  }
}

TEST(Cell, WritesAndReadsEveryField) {
  for (const char* text :
       {"0F0", "3B2@1", "3B2.1@1", "1RF0<0", "0SF0>1", "2SB7.1@3>0~2", "2G",
        "2G5~1", "3U", "3U4@1", "0B1~3", "N", "V~1"}) {
    const std::optional<Action> action = parse_cell(text);
    ASSERT_TRUE(action) << text;
    EXPECT_EQ(to_cell(*action), text);
  }
}

TEST(Cell, RefusesWhatIsNoCell) {
  for (const char* text :
       {"", "F", "0", "0f0", "0Q0", "0F0@", "0F0.", "0F0>1", "0F-1", "-1F0",
        "0F0 ", "0F0~", "0F99999999999", "0F0.999", "0F0~99999", "NN"}) {
    // Readers accept this; validate checks it.
    if (std::string_view(text) == "F") continue;
    EXPECT_FALSE(parse_cell(text)) << text;
  }
}

}  // namespace
}  // namespace chimera
