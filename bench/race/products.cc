// The time of a step's floating-point operations at the rate that this machine
// reaches in large matrix products, in the race's protocol (blocks.h):
//   race_products run.toml [section.key=value]...
// The rate is measured anew in each block, on two cores at once.
#include "bench/race/blocks.h"
#include "chimera/run/run.h"
#include "chimera/train/peak_flops.h"

namespace chimera {
namespace {

constexpr int kCores = 2;

int measure(const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    std::cerr << "usage: race_products run.toml [section.key=value]...\n";
    return 2;
  }
  const auto setup = set_up_race(
      arguments[0], {std::next(arguments.begin()), arguments.end()});
  if (!setup) return 2;
  while (const int steps = read_block()) {
    const double rate =
        kCores * measure_core_flops(kCores, setup->config.train.precision);
    print_block({.seconds = steps * flops_per_step(*setup) / rate});
  }
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace chimera

int main(int argc, char** argv) {
  return chimera::measure({argv + 1, argv + argc});
}
