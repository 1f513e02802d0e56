#include "chimera/exec/progress.h"

#include <gtest/gtest.h>

#include "chimera/schedule/lower.h"
#include "chimera/schedule/scheme.h"

namespace chimera {
namespace {

Schedule lowered() {
  return lower(
      make_schedule({.scheme = "1f1b", .depth = 2, .micros = 2}).value());
}

std::string described(const Schedule& schedule, const Progress& progress) {
  return describe_progress(schedule, /*rank=*/0, encode(progress));
}

TEST(Progress, SaysWhereARankStands) {
  const Schedule schedule = lowered();
  EXPECT_EQ(describe_progress(schedule, 0, 0), "before the first step");
  EXPECT_EQ(described(schedule, {.step = 4, .position = 0}),
            "step 5, forward of stage 0, micro-batch 0");
  EXPECT_EQ(described(schedule, {.step = 5, .position = Progress::kBetween}),
            "after step 5");
  EXPECT_EQ(described(schedule, {.step = 2, .position = 6, .training = false}),
            "evaluation, batch 3");
}

// While this rank evaluates, another one may hang in a step of training.
TEST(Progress, APositionBeyondTheListIsNamedByItsNumber) {
  const Schedule training = lowered();
  const int last = static_cast<int>(training.actions[0].size()) - 1;
  const Progress progress{.step = 4, .position = last};
  EXPECT_EQ(described(training, progress), "step 5, vote");
  EXPECT_EQ(described(forward_only(training), progress),
            "step 5, action " + std::to_string(last));
}

}  // namespace
}  // namespace chimera
