#include "chimera/page/curve.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace chimera {
namespace {

TEST(Curve, KeepsEveryPointWhileThereIsRoom) {
  Curve curve(8);
  for (int step = 1; step < 8; ++step) curve.add(step, step * step);
  EXPECT_EQ(curve.group_size(), 1);
  EXPECT_EQ(curve.points().size(), 7u);
  EXPECT_EQ(curve.points()[2], (CurvePoint{3, 9}));
}

TEST(Curve, SpikeSurvivesAMillionSteps) {
  Curve curve(64);
  for (int step = 0; step < 1000000; ++step) {
    curve.add(step, step == 123456 ? 99 : step == 654321 ? -99 : 1);
  }
  const std::vector<CurvePoint> points = curve.points();
  EXPECT_LE(points.size(), 128u);
  EXPECT_NE(std::find(points.begin(), points.end(), CurvePoint{123456, 99}),
            points.end());
  EXPECT_NE(std::find(points.begin(), points.end(), CurvePoint{654321, -99}),
            points.end());
  EXPECT_EQ(curve.lowest(), (CurvePoint{654321, -99}));
}

// Compares a curve with groups made from all points at once.
RC_GTEST_PROP(Curve, GroupsHoldTheirLowestAndHighest,
              (std::vector<signed char> values)) {
  Curve curve(8);
  std::vector<CurvePoint> all;
  int step = 0;
  for (const signed char value : values) {
    step += 1 + (value & 3);
    all.push_back({step, double{1} * value});
    curve.add(step, value);
  }
  const int size = curve.group_size();
  std::multiset<std::pair<int, double>> expected;  // (group, value)
  for (int group = 0; group <= step / size; ++group) {
    std::vector<double> members;
    for (const CurvePoint& point : all) {
      if (point.step / size == group) members.push_back(point.value);
    }
    if (members.empty()) continue;
    const auto [low, high] =
        std::minmax_element(members.begin(), members.end());
    expected.insert({group, *low});
    if (*low != *high) expected.insert({group, *high});
  }
  std::multiset<std::pair<int, double>> found;
  for (const CurvePoint& point : curve.points()) {
    RC_ASSERT(std::find(all.begin(), all.end(), point) != all.end());
    found.insert({point.step / size, point.value});
  }
  RC_ASSERT(found == expected);
}

// Plays a client that has some points and asks for those after its newest step.
RC_GTEST_PROP(Curve, NewPointsReplaceOnlyTheLastGroup,
              (std::vector<signed char> values)) {
  Curve curve(8);
  std::vector<CurvePoint> client;
  int step = 0;
  int size = 1;
  for (const signed char value : values) {
    const int from = step;
    curve.add(++step, value);
    if (curve.group_size() != size) {  // client starts over
      size = curve.group_size();
      client = curve.points();
      continue;
    }
    std::erase_if(client, [&](const CurvePoint& point) {
      return point.step >= curve.group_start(from);
    });
    for (const CurvePoint& point : curve.points(from)) client.push_back(point);
    RC_ASSERT(client == curve.points());
  }
}

}  // namespace
}  // namespace chimera
