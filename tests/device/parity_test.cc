// Every scheme on the test device: the bits of the CPU and no report. Models,
// precisions, widths, recomputation, tied weights, dropout and sync modes take
// turns: one layout of each scheme and depth, or with CHIMERA_GRID=full all.
#include "tests/device/device_training.h"
#include "tests/grid.h"

namespace chimera {
namespace {

using testing::combination;
using testing::config_of;
using testing::DeviceTraining;
using testing::Extras;
using testing::full_grid;
using testing::kCombinations;
using testing::kTestDevices;

// The extras of the n-th case. Asynchronous schemes refuse tied weights.
Extras extras_of(int number, const Scheme& scheme, int depth) {
  // 5 and 144 are coprime, so neighbouring cases differ in every choice.
  Extras extras = combination(number * 5 % kCombinations);
  if (number % 3 == 2) extras.precision = Precision::kBf16;
  if (!scheme.is_synchronous()) extras.tied = false;
  if (depth * extras.width > kTestDevices) extras.width = 1;
  return extras;
}

TEST_F(DeviceTraining, EverySchemeHasTheBitsOfTheCpu) {
  int number = 0;
  for (const Scheme& scheme : schemes()) {
    for (const int depth : {2, 4}) {
      std::vector<ScheduleSpec> layouts = testing::layouts(
          scheme, depth, {depth - 1, depth, 2 * depth, 2 * depth + 1});
      std::erase_if(layouts, [&](const ScheduleSpec& spec) {
        return resolve(spec)->chunks * depth > 8;
      });
      const std::size_t step =
          full_grid() ? 1 : std::max<std::size_t>(1, layouts.size());
      for (std::size_t at = 0; at < layouts.size(); at += step) {
        const Extras extras = extras_of(number++, scheme, depth);
        SCOPED_TRACE(testing::text_of(layouts[at]) + text_of(extras));
        expect_bits_of_the_cpu(config_of(layouts[at], extras));
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(DeviceTraining, EveryLlamaHasTheBitsOfTheCpu) {
  for (int variant = 0; variant < 4; ++variant) {
    RunConfig config = config_of({.scheme = "chimera", .depth = 2, .micros = 2},
                                 {.tied = variant % 2 == 0, .kind = "llama"});
    config.model.variant = static_cast<LlamaVariant>(variant);
    SCOPED_TRACE(variant);
    expect_bits_of_the_cpu(config);
  }
}

}  // namespace
}  // namespace chimera
