// Golden files, one per scheme, in tests/golden: the lists of small layouts,
// and makespan and peaks of all layouts: line by line up to D = 8, above that
// as a digest over every N up to 4D. To accept an intended change of one scheme
// (or of all, with 1):
//   CHIMERA_GRID=full CHIMERA_UPDATE_GOLDEN=SCHEME build/golden_test
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <numeric>

#include "chimera/base/text.h"
#include "chimera/schedule/cell.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/scheme.h"
#include "chimera/simulate/simulate.h"
#include "tests/grid.h"

namespace chimera {
namespace {

using Lines = std::map<std::string, std::string>;  // key -> value

std::vector<int> up_to(int last) {
  std::vector<int> numbers(last);
  std::iota(numbers.begin(), numbers.end(), 1);
  return numbers;
}

std::string cells(const ActionList& list) {
  std::vector<std::string> words;
  for (const Action& action : list) words.push_back(to_cell(action));
  return join(words, " ");
}

// The smallest legal layout with D = 4, compute-only and lowered.
void add_lists(const Scheme& scheme, Lines& lines) {
  for (const ScheduleSpec& spec : testing::layouts(scheme, 4, up_to(16))) {
    std::string layout = testing::text_of(spec);
    layout = layout.substr(layout.find(" pipes="));
    if (lines.count("layout" + layout) > 0) continue;
    lines["layout" + layout] = "N=" + std::to_string(spec.micros);
    // A slightly larger layout for schemes whose smallest one is trivial.
    ScheduleSpec shown = spec;
    shown.micros = std::max(spec.micros, 4);
    const Schedule schedule = make_schedule(shown).value();
    const Schedule lowered = lower(schedule, {.recompute = true});
    for (int worker = 0; worker < 4; ++worker) {
      const std::string at = " worker " + std::to_string(worker) + layout;
      lines["compute" + at] = cells(schedule.actions[worker]);
      lines["lowered" + at] = cells(lowered.actions[worker]);
    }
  }
}

// Makespan and peaks: "21 | 3 2 1".
std::string figures(const ScheduleSpec& spec) {
  const Schedule schedule = make_schedule(spec).value();
  const Simulation simulation =
      simulate(lower(schedule), uniform_costs(schedule, {}));
  std::string text = number(simulation.makespan) + " |";
  for (const WorkerStats& worker : simulation.workers) {
    text += " " + number(worker.peak_activations);
  }
  return text;
}

std::uint64_t fnv1a(std::uint64_t hash, const std::string& text) {
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1099511628211ull;
  }
  return hash;
}

void add_digests(const Scheme& scheme, int depth, Lines& lines) {
  std::map<std::string, std::uint64_t> digests;
  for (const ScheduleSpec& spec :
       testing::layouts(scheme, depth, up_to(4 * depth))) {
    std::string layout = testing::text_of(spec);
    layout = layout.substr(layout.find(" pipes="));
    const std::string key = "digest D=" + std::to_string(depth) + layout;
    const auto [entry, fresh] = digests.emplace(key, 14695981039346656037ull);
    entry->second =
        fnv1a(entry->second, std::to_string(spec.micros) + figures(spec));
  }
  for (const auto& [key, digest] : digests) {
    lines[key] = std::to_string(digest);
  }
}

Lines computed(const Scheme& scheme) {
  Lines lines;
  add_lists(scheme, lines);
  for (const int depth : up_to(8)) {
    for (const ScheduleSpec& spec :
         testing::layouts(scheme, depth, up_to(4 * depth))) {
      lines[testing::text_of(spec)] = figures(spec);
    }
  }
  for (int depth = 9; depth <= 32; ++depth) {
    if (testing::full_grid() || depth <= 10 || depth == 12) {
      add_digests(scheme, depth, lines);
    }
  }
  return lines;
}

std::string path_of(const Scheme& scheme) {
  return std::string(CHIMERA_SOURCE_DIR) + "/tests/golden/" +
         std::string(scheme.name) + ".txt";
}

Lines read(const std::string& path) {
  Lines lines;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    const size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    lines[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return lines;
}

TEST(Golden, EverySchemeIsAsItWas) {
  const char* update = std::getenv("CHIMERA_UPDATE_GOLDEN");
  const std::string_view updated = update == nullptr ? "" : update;
  for (const Scheme& scheme : schemes()) {
    const bool is_updated = updated == "1" || updated == scheme.name;
    if (!updated.empty() && !is_updated) continue;
    const Lines now = computed(scheme);
    if (is_updated) {
      std::ofstream file(path_of(scheme));
      for (const auto& [key, value] : now) file << key << ": " << value << "\n";
      continue;
    }
    const Lines golden = read(path_of(scheme));
    EXPECT_FALSE(golden.empty()) << "no " << path_of(scheme);
    for (const auto& [key, value] : now) {
      const auto line = golden.find(key);
      ASSERT_NE(line, golden.end()) << path_of(scheme) << " lacks " << key;
      ASSERT_EQ(line->second, value) << path_of(scheme) << ": " << key;
    }
  }
  ASSERT_TRUE(updated.empty()) << "golden files were written, not compared";
}

}  // namespace
}  // namespace chimera
