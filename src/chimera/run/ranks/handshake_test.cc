#include "chimera/run/ranks/handshake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chimera {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

RankReport report(const std::string& host) {
  return {.host = host,
          .version = "0.1.0",
          .build = "abc",
          .config = "[train]\nlr = 0.001\nsteps = 5\n\n[data]\npath = \"a\"\n",
          .schedule = "01",
          .model = "02",
          .data = "100 samples"};
}

TEST(Handshake, EqualRanksAgree) {
  EXPECT_TRUE(compare({report("a"), report("b"), report("c")}).empty());
}

TEST(Handshake, AReportSurvivesItsJourney) {
  RankReport sent = report("ho:st");
  sent.errors = "error[E501] 12:x\nerror\n";
  sent.code = kExitData;
  EXPECT_EQ(unpack(pack(sent)), sent);
}

TEST(Handshake, ADifferenceNamesRankHostAndField) {
  RankReport other = report("b");
  other.config = "[train]\nlr = 0.002\nsteps = 5\n\n[data]\npath = \"a\"\n";
  const Diagnostics errors = compare({report("a"), report("a"), other});
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_THAT(to_string(errors[0]),
              AllOf(HasSubstr("rank 2 (b)"), HasSubstr("train.lr = 0.002"),
                    HasSubstr("rank 0 (a) has train.lr = 0.001")));
}

TEST(Handshake, EveryFieldIsCompared) {
  const auto differs_in = [](std::string RankReport::*field) {
    RankReport other = report("b");
    other.*field += "0";
    return compare({report("a"), other}).size();
  };
  for (const auto field :
       {&RankReport::version, &RankReport::build, &RankReport::config,
        &RankReport::schedule, &RankReport::model, &RankReport::data}) {
    EXPECT_EQ(differs_in(field), 1U);
  }
}

TEST(Handshake, AllRanksThatDifferAreNamed) {
  RankReport other = report("b");
  other.data = "99 samples";
  EXPECT_EQ(compare({report("a"), other, report("c"), other}).size(), 2U);
}

}  // namespace
}  // namespace chimera
