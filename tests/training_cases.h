// Small models, and all options that can be combined with a schedule, for tests
// that train.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "chimera/schedule/scheme.h"
#include "chimera/train/train.h"

namespace chimera::testing {

// Options that can be combined with any schedule.
struct Extras {
  int width = 1;
  Recompute recompute = false;
  bool tied = false;
  bool dropout = false;
  const char* sync = "end";
  const char* kind = "gpt2";
  Precision precision = Precision::kFloat32;
};

[[nodiscard]] std::string text_of(const Extras& extras);

inline constexpr int kCombinations = 144;
[[nodiscard]] Extras combination(int number);

// A config of two steps on random tokens, in a file of this process.
[[nodiscard]] RunConfig config_of(const ScheduleSpec& spec,
                                  const Extras& extras);
[[nodiscard]] std::unique_ptr<RunSetup> setup_of(const RunConfig& config);

struct Outcome {
  std::vector<double> numbers;  // losses and norms
  std::vector<NamedTensor> weights;
};
[[nodiscard]] Outcome outcome_of(const RunSetup& setup,
                                 Transport* own = nullptr);

// Expects all numbers and all weights to be equal.
void expect_same_bits(const Outcome& a, const Outcome& b);

}  // namespace chimera::testing
