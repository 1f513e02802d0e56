// Ranks as processes give the bits of ranks as threads. One program for all
// cases, started as `mpirun -n 2|4|8 mpi_test`: every rank walks the same list
// of them, and rank 0 also runs each in threads and compares.
//
// Every scheme and layout that fits the number of ranks is run with one
// combination of everything else in turn; with CHIMERA_GRID=full with a dozen,
// in which every two choices meet.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "chimera/comm/mpi/mpi_transport.h"
#include "chimera/comm/mpi/session.h"
#include "chimera/exec/emulated.h"
#include "chimera/exec/gather.h"
#include "chimera/exec/worker.h"
#include "chimera/schedule/lower.h"
#include "chimera/trace/merge.h"
#include "tests/grid.h"
#include "tests/training_cases.h"

namespace chimera {
namespace {

using testing::config_of;
using testing::expect_same_bits;
using testing::Extras;
using testing::Outcome;
using testing::outcome_of;
using testing::setup_of;

const MpiSession* session = nullptr;  // of main

// A test that cannot go on ends its process, and so the job.
std::unique_ptr<MpiTransport> transport_for(const Schedule& schedule) {
  return make_mpi_transport({.deadline = std::chrono::seconds(60),
                             .groups = group_ranks(schedule),
                             .peers = peer_ranks(schedule, session->rank()),
                             .cause =
                                 [] {
                                   try {
                                     throw;
                                   } catch (const std::exception& error) {
                                     return Cause{1, error.what()};
                                   }
                                 },
                             .speak =
                                 [](const Ending& ending) {
                                   std::cerr << "rank " << session->rank()
                                             << ": " << ending.reason
                                             << " (rank " << ending.origin
                                             << ")\n";
                                 },
                             .leave = [](int exit_code) { _exit(exit_code); }});
}

void expect_as_in_threads(const RunConfig& config) {
  const std::unique_ptr<RunSetup> setup = setup_of(config);
  Outcome by_mpi;
  {
    const auto transport = transport_for(setup->schedule);
    by_mpi = outcome_of(*setup, {.own = transport.get()});
  }
  if (session->rank() == 0) expect_same_bits(by_mpi, outcome_of(*setup));
}

std::vector<ScheduleSpec> layouts_of_depth(int depth) {
  std::vector<ScheduleSpec> specs;
  for (const Scheme& scheme : schemes()) {
    std::vector<int> micros = {depth, 2 * depth};
    if (testing::full_grid()) micros.push_back(depth + 1);
    for (const ScheduleSpec& spec : testing::layouts(scheme, depth, micros)) {
      // The model has eight layers.
      if (resolve(spec)->chunks * depth <= 8) specs.push_back(spec);
    }
  }
  return specs;
}

// Asynchronous schemes leave fewer choices.
bool fits(const ScheduleSpec& spec, const Extras& extras) {
  return find_scheme(spec.scheme)->synchronous || !extras.tied;
}

TEST(Mpi, EverySchemeGivesTheBitsOfThreads) {
  const int repeats = testing::full_grid() ? 12 : 1;
  int number = 0;
  int run = 0;
  for (const int width : {1, 2}) {
    if (session->size() % width != 0) continue;
    for (const ScheduleSpec& spec : layouts_of_depth(session->size() / width)) {
      for (int repeat = 0; repeat < repeats; ++repeat) {
        Extras extras =
            testing::combination(number++ * 5 % testing::kCombinations);
        extras.width = width;
        if (!fits(spec, extras)) extras.tied = false;
        SCOPED_TRACE(testing::text_of(spec) + testing::text_of(extras));
        RunConfig config = config_of(spec, extras);
        config.train.shard_update = number % 3 == 0;
        const bool may_clip = find_scheme(spec.scheme)->synchronous;
        config.train.clip = may_clip && number % 2 == 0 ? 0.5 : 0;
        expect_as_in_threads(config);
        ++run;
        if (HasFailure()) return;
      }
    }
  }
  if (session->rank() == 0) std::cout << run << " layouts\n";
}

// Training pauses for evaluations, whose messages bear the same numbers.
TEST(Mpi, EvaluationsGiveTheBitsOfThreads) {
  RunConfig config = config_of({.scheme = "chimera",
                                .depth = session->size(),
                                .micros = session->size()},
                               {.tied = true, .sync = "eager-opt"});
  config.train.steps = 5;
  config.train.eval_every = 2;
  config.data.eval_path = config.data.path;
  config.run.trace = true;
  expect_as_in_threads(config);
}

TEST(Mpi, PlanningAgainGivesTheBitsOfThreads) {
  RunConfig config = config_of({.scheme = "planned",
                                .depth = session->size(),
                                .micros = session->size()},
                               {.sync = "eager-opt"});
  config.train.steps = 4;
  config.schedule.replan_after = 2;
  expect_as_in_threads(config);
}

// Whether a rank computes for most of another event: between two actions it
// takes a few microseconds, and on a busy machine more.
bool computes_during(const Trace& trace, int rank, const Event& event) {
  double covered = 0;
  for (const Event& other : trace.events) {
    if (!is_compute(other.action.op) || other.worker != rank) continue;
    covered += std::max(0.0, std::min(other.end, event.end) -
                                 std::max(other.start, event.start));
  }
  return covered > 0.75 * (event.end - event.start);
}

// Emulated stages that wait 40 ms, with messages of 2 MB and sums of 4 MB that
// really move.
Trace emulated_trace(const std::string& scheme) {
  const int ranks = session->size();
  const int steps = std::max(2, 16 / ranks);  // few ranks do little in one
  const Schedule lowered = lower(
      make_schedule({.scheme = scheme, .depth = ranks, .micros = 2 * ranks})
          .value(),
      {.sync = Sync::kEager});
  const EmulatedStage stage{.forward_s = 0.04,
                            .input_grad_s = 0.04,
                            .weight_grad_s = 0.04,
                            .boundary_bytes = 2'000'000,
                            .gradient_bytes = 4'000'000};
  const auto compute = make_emulated(
      lowered, std::vector<EmulatedStage>(lowered.stages(), stage));
  const auto transport = transport_for(lowered);
  Worker worker(*transport, *compute, {.recorder = {.keep_events = true}});
  worker.run(Program(lowered, session->rank()), {.end = steps});
  const auto events =
      gather_values(*transport, worker.recorder().events(), 1 << 29);
  return session->rank() == 0 ? merge_ranks(lowered, events, steps) : Trace{};
}

TEST(Mpi, SumsMoveWhileTheWorkerComputes) {
  const Trace trace = emulated_trace("chimera");
  const auto sums = std::count_if(
      trace.events.begin(), trace.events.end(), [&](const Event& event) {
        return event.action.op == Op::kG &&
               computes_during(trace, event.worker, event);
      });
  if (session->rank() != 0) return;
  EXPECT_GT(sums, 0);
  std::cout << sums << " sums of 4 MB moved beside compute\n";
}

TEST(Mpi, ActivationsMoveWhileBothWorkersCompute) {
  const Trace trace = emulated_trace("gpipe");
  const auto messages = std::count_if(
      trace.events.begin(), trace.events.end(), [&](const Event& event) {
        return event.action.op == Op::kSF &&
               computes_during(trace, event.worker, event) &&
               computes_during(trace, event.action.peer, event);
      });
  if (session->rank() != 0) return;
  EXPECT_GT(messages, 0);
  std::cout << messages << " activations of 2 MB moved beside compute\n";
}

}  // namespace
}  // namespace chimera

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const chimera::MpiSession session;
  chimera::session = &session;
  if (session.rank() != 0) {
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
  }
  return RUN_ALL_TESTS();
}
