#include "tests/grid.h"

#include <cstdlib>
#include <numeric>
#include <tuple>

namespace chimera::testing {
namespace {

std::vector<int> count(int first, int last) {
  std::vector<int> numbers(last - first + 1);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

std::vector<int> depths() {
  if (full_grid()) return count(1, 32);
  return {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 31, 32};
}

// Micro-batch counts around multiples of D and D/2, where orders change their
// structure.
std::vector<int> micro_counts(int depth) {
  std::vector<int> counts;
  for (const int micros : count(1, 4 * depth)) {
    const int off = micros % depth;
    const bool near = off <= 1 || off == depth - 1 || off == depth / 2;
    if (full_grid() || depth <= 6 || near) counts.push_back(micros);
  }
  return counts;
}

// Pipes, shape and chunks of planned orders.
std::vector<std::tuple<int, Shape, int>> planned_placements() {
  return {{2, Shape::kLinear, 1}, {1, Shape::kLinear, 1},
          {4, Shape::kLinear, 1}, {2, Shape::kVee, 2},
          {1, Shape::kVee, 2},    {1, Shape::kLoop, 2},
          {2, Shape::kWave, 4}};
}

}  // namespace

bool full_grid() {
  const char* value = std::getenv("CHIMERA_GRID");
  return value != nullptr && std::string(value) == "full";
}

std::string text_of(const ScheduleSpec& spec) {
  const Layout layout = resolve(spec).value();
  return spec.scheme + " D=" + std::to_string(spec.depth) +
         " N=" + std::to_string(spec.micros) +
         " pipes=" + std::to_string(layout.pipes) +
         " chunks=" + std::to_string(layout.chunks) + " " +
         std::string(spec.shape ? name_of(*spec.shape) : name_of(spec.scale));
}

std::vector<ScheduleSpec> layouts(const Scheme& scheme, int depth,
                                  const std::vector<int>& micros) {
  std::vector<ScheduleSpec> specs;
  const auto add = [&](const ScheduleSpec& spec) {
    if (resolve(spec).ok()) specs.push_back(spec);
  };
  for (const int N : micros) {
    ScheduleSpec spec{
        .scheme = std::string(scheme.name), .depth = depth, .micros = N};
    if (scheme.any_shape) {
      for (const auto& [pipes, shape, number] : planned_placements()) {
        spec.pipes = pipes;
        spec.shape = shape;
        spec.chunks = number;
        add(spec);
      }
    } else if (scheme.any_chunks) {
      for (const int chunks : {2, 4}) {
        spec.chunks = chunks;
        add(spec);
      }
    } else if (scheme.any_pipes) {
      for (int f = 1; f <= depth / 2; ++f) {
        spec.pipes = 2 * f;
        for (const Scale scale :
             {Scale::kDirect, Scale::kDoubling, Scale::kHalving}) {
          spec.scale = scale;
          add(spec);
        }
      }
    } else {
      add(spec);
    }
  }
  return specs;
}

std::vector<ScheduleSpec> grid() {
  std::vector<ScheduleSpec> specs;
  for (const Scheme& scheme : schemes()) {
    for (const int depth : depths()) {
      // Planned orders have seven placements, so a few N suffice.
      const bool is_thinned = scheme.any_shape && depth > 8 && !full_grid();
      const std::vector<int> micros =
          is_thinned ? std::vector{depth, 2 * depth - 2, 3 * depth + 1}
                     : micro_counts(depth);
      for (const ScheduleSpec& spec : layouts(scheme, depth, micros)) {
        specs.push_back(spec);
      }
    }
  }
  return specs;
}

}  // namespace chimera::testing
