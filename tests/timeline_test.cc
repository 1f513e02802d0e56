// The timelines of the Chimera paper, written down column by column: schedules
// must match them action by action and start by start.
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "chimera/schedule/lower.h"
#include "chimera/schedule/scheme.h"
#include "chimera/simulate/simulate.h"

namespace chimera {
namespace {

// One column is one forward time. fX forward, BX backward, bX half backward, --
// continuation, .. idle.
struct Timeline {
  const char* name;
  ScheduleSpec spec;
  double backward;
  const char* rows;
};

struct Block {
  char kind;  // f, B or b
  int micro;
  int start;

  bool operator==(const Block&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Block& block) {
  return out << block.kind << block.micro << "@" << block.start;
}

std::vector<std::vector<Block>> drawn(const Timeline& timeline) {
  std::vector<std::vector<Block>> workers;
  std::istringstream rows(timeline.rows);
  std::string row;
  while (std::getline(rows, row)) {
    std::istringstream cells(row);
    std::string cell;
    cells >> cell;  // skips "P0"
    if (cell.empty()) continue;
    std::vector<Block>& blocks = workers.emplace_back();
    for (int column = 0; cells >> cell; ++column) {
      if (cell == ".." || cell == "--") continue;
      blocks.push_back({cell[0], std::stoi(cell.substr(1)), column});
    }
  }
  return workers;
}

std::vector<std::vector<Block>> simulated(const Timeline& timeline) {
  const Schedule schedule = make_schedule(timeline.spec).value();
  const Costs costs = uniform_costs(schedule, {.backward = timeline.backward});
  const Simulation simulation = simulate(lower(schedule), costs);
  std::vector<std::vector<Block>> workers(schedule.workers());
  for (const Event& event : simulation.trace.events) {
    const bool forward = event.action.op == Op::kF;
    if (!forward && event.action.op != Op::kB) continue;
    const char backward = schedule.parts == 2 ? 'b' : 'B';
    workers[event.worker].push_back({forward ? 'f' : backward,
                                     event.action.micro,
                                     static_cast<int>(event.start)});
  }
  return workers;
}

const std::vector<Timeline>& timelines() {
  static const std::vector<Timeline> kTimelines = {
      {"D=4 N=4 F=B",
       {.scheme = "chimera", .depth = 4, .micros = 4},
       1,
       R"(
P0 f0 f1 .. f2 B2 f3 B3 B0 .. B1
P1 .. f0 f2 f1 f3 B2 B0 B3 B1 ..
P2 .. f2 f0 f3 f1 B0 B2 B1 B3 ..
P3 f2 f3 .. f0 B0 f1 B1 B2 .. B3)"},
      {"D=4 N=4 B=2F",
       {.scheme = "chimera", .depth = 4, .micros = 4},
       2,
       R"(
P0 f0 f1 .. f2 B2 -- f3 B3 -- .. B0 -- .. .. B1 --
P1 .. f0 f2 f1 f3 .. B2 -- B0 -- B3 -- B1 -- .. ..
P2 .. f2 f0 f3 f1 .. B0 -- B2 -- B1 -- B3 -- .. ..
P3 f2 f3 .. f0 B0 -- f1 B1 -- .. B2 -- .. .. B3 --)"},
      {"D=8 N=8 four pipes F=B",
       {.scheme = "chimera", .depth = 8, .micros = 8, .pipes = 4},
       1,
       R"(
P0 f0 f1 .. f6 f2 f7 f3 f4 B4 f5 B5 B2 B6 B3 B7 B0 .. B1
P1 .. f0 f6 f1 f7 f2 f4 f3 f5 B4 B2 B5 B3 B6 B0 B7 B1 ..
P2 .. f6 f0 f7 f1 f4 f2 f5 f3 B2 B4 B3 B5 B0 B6 B1 B7 ..
P3 f6 f7 .. f0 f4 f1 f5 f2 B2 f3 B3 B4 B0 B5 B1 B6 .. B7
P4 f2 f3 .. f4 f0 f5 f1 f6 B6 f7 B7 B0 B4 B1 B5 B2 .. B3
P5 .. f2 f4 f3 f5 f0 f6 f1 f7 B6 B0 B7 B1 B4 B2 B5 B3 ..
P6 .. f4 f2 f5 f3 f6 f0 f7 f1 B0 B6 B1 B7 B2 B4 B3 B5 ..
P7 f4 f5 .. f2 f6 f3 f7 f0 B0 f1 B1 B6 B2 B7 B3 B4 .. B5)"},
      {"D=4 N=8 direct B=2F",
       {.scheme = "chimera", .depth = 4, .micros = 8},
       2,
       R"(
P0 f0 f1 .. f2 B2 -- f3 B3 -- .. B0 -- f4 .. B1 -- f5 f6 B6 -- f7 B7 -- .. B4 -- .. .. B5 --
P1 .. f0 f2 f1 f3 .. B2 -- B0 -- B3 -- B1 -- f4 f6 .. f5 f7 .. B6 -- B4 -- B7 -- B5 -- .. ..
P2 .. f2 f0 f3 f1 .. B0 -- B2 -- B1 -- B3 -- f6 f4 .. f7 f5 .. B4 -- B6 -- B5 -- B7 -- .. ..
P3 f2 f3 .. f0 B0 -- f1 B1 -- .. B2 -- f6 .. B3 -- f7 f4 B4 -- f5 B5 -- .. B6 -- .. .. B7 --)"},
      {"D=4 N=8 doubling B=2F",
       {.scheme = "chimera",
        .depth = 4,
        .micros = 8,
        .scale = Scale::kDoubling},
       2,
       R"(
P0 f0 f1 f2 f3 f4 f5 B4 -- f6 f7 B5 -- .. B0 -- B6 -- B1 -- B7 -- B2 -- .. .. B3 --
P1 .. f0 f1 f4 f5 f2 f3 f6 f7 B4 -- B0 -- B5 -- B1 -- B6 -- B2 -- B7 -- B3 -- .. ..
P2 .. f4 f5 f0 f1 f6 f7 f2 f3 B0 -- B4 -- B1 -- B5 -- B2 -- B6 -- B3 -- B7 -- .. ..
P3 f4 f5 f6 f7 f0 f1 B0 -- f2 f3 B1 -- .. B4 -- B2 -- B5 -- B3 -- B6 -- .. .. B7 --)"},
      {"D=4 N=8 halving B=2F",
       {.scheme = "chimera", .depth = 4, .micros = 8, .scale = Scale::kHalving},
       2,
       R"(
P0 f0 f1 .. f2 b2 f3 b2 b0 b3 b0 b3 b1 f4 b1 f5 f6 b6 f7 b6 b4 b7 b4 b7 b5 .. b5
P1 .. f0 f2 f1 f3 b2 b0 b2 b0 b3 b1 b3 b1 f4 f6 f5 f7 b6 b4 b6 b4 b7 b5 b7 b5 ..
P2 .. f2 f0 f3 f1 b0 b2 b0 b2 b1 b3 b1 b3 f6 f4 f7 f5 b4 b6 b4 b6 b5 b7 b5 b7 ..
P3 f2 f3 .. f0 b0 f1 b0 b2 b1 b2 b1 b3 f6 b3 f7 f4 b4 f5 b4 b6 b5 b6 b5 b7 .. b7)"},
  };
  return kTimelines;
}

TEST(Timeline, EqualsThePaperActionByAction) {
  for (const Timeline& timeline : timelines()) {
    EXPECT_EQ(simulated(timeline), drawn(timeline)) << timeline.name;
  }
}

// Known makespans of each scheme, in units of F with B = 2F.
TEST(Timeline, MakespansOfTheReferenceTables) {
  struct Row {
    const char* scheme;
    int depth;
    int micros;
    int pipes;
    Scale scale;
    double makespan;
  };
  const Scale direct = Scale::kDirect;
  const std::vector<Row> rows = {
      {"chimera", 8, 1, 2, direct, 24},
      {"chimera", 8, 2, 2, direct, 24},
      {"chimera", 8, 4, 2, direct, 28},
      {"chimera", 8, 6, 2, direct, 32},
      {"chimera", 8, 8, 2, direct, 36},
      {"chimera", 8, 8, 4, direct, 28},
      {"chimera", 8, 16, 4, direct, 54},
      {"chimera", 8, 32, 4, direct, 106},
      {"chimera", 8, 32, 2, direct, 126},
      {"chimera", 8, 32, 2, Scale::kHalving, 102},
      {"chimera", 8, 32, 2, Scale::kDoubling, 105},
      {"1f1b", 8, 32, 1, direct, 117},
      {"zb-h1", 8, 8, 1, direct, 31},
      {"zb-v", 8, 8, 1, direct, 31},
      {"zb-v", 16, 32, 1, direct, 103.5},
      {"dualpipe", 16, 32, 2, direct, 103},
      {"interleaved", 16, 16, 1, direct, 70.5},
  };
  for (const Row& row : rows) {
    const Schedule schedule = make_schedule({.scheme = row.scheme,
                                             .depth = row.depth,
                                             .micros = row.micros,
                                             .pipes = row.pipes,
                                             .scale = row.scale})
                                  .value();
    const Costs costs = uniform_costs(schedule, {});
    EXPECT_EQ(simulate(lower(schedule), costs).makespan, row.makespan)
        << row.scheme << " D=" << row.depth << " N=" << row.micros;
  }
}

// A recomputation that does not wait for the gradient: 149 instead of 156 for
// 1f1b at D=8, N=32.
TEST(Timeline, FreeStandingRecomputationIsFaster) {
  const Schedule schedule =
      make_schedule({.scheme = "1f1b", .depth = 8, .micros = 32}).value();
  const Costs costs = uniform_costs(schedule, {});
  EXPECT_EQ(simulate(lower(schedule, {.recompute = true}), costs).makespan,
            149);
  const Costs slower = uniform_costs(schedule, {.backward = 3});
  EXPECT_EQ(simulate(lower(schedule), slower).makespan, 156);
}

// PipeDream and 2BW take N(F+B) per step once the pipe is full.
TEST(Timeline, AsynchronousSchemesReachTheirSteadyPeriod) {
  for (const char* scheme : {"pipedream", "pipedream-2bw"}) {
    for (const int depth : {2, 4, 7}) {
      for (const int micros : {1, 4, 7, 9}) {
        const Result<Schedule> schedule =
            make_schedule({.scheme = scheme, .depth = depth, .micros = micros});
        if (!schedule) continue;
        const Costs costs = uniform_costs(*schedule, {});
        const Simulation simulation =
            simulate(lower(*schedule), costs, {.steps = depth + 4});
        EXPECT_EQ(simulation.period, micros * 3)
            << scheme << " D=" << depth << " N=" << micros;
      }
    }
  }
}

// The bubble ratio of the smallest Hanayo order.
TEST(Timeline, HanayoOrder) {
  const Schedule schedule =
      make_schedule({.scheme = "hanayo", .depth = 4, .micros = 4}).value();
  const Costs costs = uniform_costs(schedule, {});
  EXPECT_NEAR(simulate(lower(schedule), costs).bubble_ratio, 0.333, 0.0005);
}

}  // namespace
}  // namespace chimera
