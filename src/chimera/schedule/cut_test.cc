#include "chimera/schedule/cut.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

namespace chimera {
namespace {

// Returns (cost of the most expensive stage, sum of squares).
std::pair<double, double> judge(const std::vector<double>& costs,
                                const std::vector<int>& cut) {
  std::pair<double, double> found = {0, 0};
  for (std::size_t stage = 0; stage < cut.size(); ++stage) {
    const int end = stage + 1 < cut.size() ? cut[stage + 1]
                                           : static_cast<int>(costs.size());
    double cost = 0;
    for (int layer = cut[stage]; layer < end; ++layer) cost += costs[layer];
    found.first = std::max(found.first, cost);
    found.second += cost * cost;
  }
  return found;
}

// The best value over every possible cut.
std::pair<double, double> best_by_trying_all(const std::vector<double>& costs,
                                             int stages) {
  std::pair<double, double> best = {1e300, 1e300};
  const int places = static_cast<int>(costs.size()) - 1;
  for (int chosen = 0; chosen < 1 << places; ++chosen) {
    std::vector<int> cut = {0};
    for (int place = 0; place < places; ++place) {
      if ((chosen >> place & 1) != 0) cut.push_back(place + 1);
    }
    if (static_cast<int>(cut.size()) == stages) {
      best = std::min(best, judge(costs, cut));
    }
  }
  return best;
}

RC_GTEST_PROP(BalancedCut, IsTheBestOfAll, ()) {
  const int layers = *rc::gen::inRange(1, 11);
  const int stages = *rc::gen::inRange(1, layers + 1);
  std::vector<double> costs;
  for (int layer = 0; layer < layers; ++layer) {
    costs.push_back(*rc::gen::inRange(0, 20));
  }
  const std::vector<int> cut = balanced_cut(costs, stages);
  RC_ASSERT(check_cut(cut, stages, layers).empty());
  RC_ASSERT(judge(costs, cut) == best_by_trying_all(costs, stages));
}

TEST(BalancedCut, SpreadsEqualLayersEvenly) {
  const std::vector<double> costs(200, 1.0);
  const std::vector<int> cut = balanced_cut(costs, 64);
  EXPECT_TRUE(check_cut(cut, 64, 200).empty());
  EXPECT_EQ(judge(costs, cut), std::pair(4.0, 8 * 16.0 + 56 * 9.0));
}

std::string codes(std::vector<int> cut, int stages, int layers) {
  std::string found;
  for (const Diagnostic& one : check_cut(cut, stages, layers)) {
    found += one.code + " ";
  }
  return found;
}

TEST(CheckCut, NamesEveryMistake) {
  EXPECT_EQ(codes({}, 3, 5), "");
  EXPECT_EQ(codes({0, 2, 4}, 3, 5), "");
  EXPECT_EQ(codes({}, 6, 5), "E550 ");
  EXPECT_EQ(codes({0, 2}, 3, 5), "E551 ");
  EXPECT_EQ(codes({1, 2, 3}, 3, 5), "E552 ");
  EXPECT_EQ(codes({0, 3, 3}, 3, 5), "E552 ");
  EXPECT_EQ(codes({0, 2, 5}, 3, 5), "E553 ");
  EXPECT_EQ(codes({0, 9, 2, 3}, 6, 5), "E550 E551 E552 E553 ");
}

}  // namespace
}  // namespace chimera
