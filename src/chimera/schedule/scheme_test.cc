#include "chimera/schedule/scheme.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chimera {
namespace {

using ::testing::UnorderedElementsAre;

std::vector<std::string> refused(const ScheduleSpec& spec) {
  std::vector<std::string> codes;
  const Result<Layout> layout = resolve(spec);
  if (layout) return codes;
  for (const Diagnostic& error : layout.errors()) codes.push_back(error.code);
  return codes;
}

TEST(Scheme, NamesAndAliasesAreFound) {
  EXPECT_EQ(find_scheme("dapple"), find_scheme("1f1b"));
  EXPECT_EQ(find_scheme("nothing"), nullptr);
  for (const std::string& name : scheme_names()) {
    EXPECT_NE(find_scheme(name), nullptr) << name;
  }
}

TEST(Scheme, EveryRefusalAtOnce) {
  EXPECT_THAT(
      refused({.scheme = "chimera",
               .depth = 5,
               .micros = 0,
               .pipes = 3,
               .chunks = 2,
               .shape = Shape::kVee,
               .width = 0}),
      UnorderedElementsAre("E202", "E203", "E204", "E205", "E206", "E208"));
  EXPECT_THAT(refused({.scheme = "1f1b",
                       .depth = 4,
                       .micros = 4,
                       .pipes = 2,
                       .scale = Scale::kHalving}),
              UnorderedElementsAre("E204", "E207"));
  EXPECT_THAT(
      refused({.scheme = "1f1b", .depth = 4096, .micros = 1, .width = 1 << 20}),
      UnorderedElementsAre("E209"));
}

TEST(Scheme, ChimeraTakesEveryDivisorOfHalfTheDepth) {
  for (int depth = 2; depth <= 24; ++depth) {
    for (int pipes = 1; pipes <= depth; ++pipes) {
      const bool legal = depth % 2 == 0 && pipes % 2 == 0 && depth % pipes == 0;
      const ScheduleSpec spec{
          .scheme = "chimera", .depth = depth, .micros = 3, .pipes = pipes};
      EXPECT_EQ(resolve(spec).ok(), legal) << depth << " " << pipes;
    }
  }
}

TEST(Scheme, PlacementsOfTheLiterature) {
  const auto placed = [](const ScheduleSpec& spec) {
    return make_schedule(spec)->placement.worker_of;
  };
  using Rows = std::vector<std::vector<int>>;
  EXPECT_EQ(placed({.scheme = "chimera", .depth = 4, .micros = 4, .pipes = 4}),
            (Rows{{0, 1, 2, 3}, {2, 3, 0, 1}, {3, 2, 1, 0}, {1, 0, 3, 2}}));
  EXPECT_EQ(placed({.scheme = "interleaved", .depth = 2, .micros = 2}),
            (Rows{{0, 1, 0, 1}}));
  EXPECT_EQ(placed({.scheme = "zb-v", .depth = 3, .micros = 3}),
            (Rows{{0, 1, 2, 2, 1, 0}}));
  EXPECT_EQ(placed({.scheme = "hanayo", .depth = 2, .micros = 2, .chunks = 4}),
            (Rows{{0, 1, 1, 0, 0, 1, 1, 0}}));
}

TEST(Scheme, PipedreamLagsAsTheDesignSays) {
  const Schedule schedule =
      make_schedule({.scheme = "pipedream", .depth = 4, .micros = 1}).value();
  ASSERT_EQ(schedule.actions[0].size(), 3u);
  EXPECT_EQ(schedule.actions[0][0].step, 0);
  EXPECT_EQ(schedule.actions[0][1].step, -3);
  EXPECT_EQ(schedule.actions[0][2].step, -3);
  EXPECT_EQ(schedule.actions[3][1].step, 0);
}

}  // namespace
}  // namespace chimera
