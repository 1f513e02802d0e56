// Ranks as processes give the same bits as ranks as threads. One program runs
// all cases, started as `mpirun -n 2|4|8 mpi_test`: every rank runs the same
// list of cases, and rank 0 also runs each in threads and compares.
//
// Every scheme and layout that fits the number of ranks runs with one
// combination of the other options in turn; with CHIMERA_GRID=full, with a
// dozen in which every pair of choices occurs.
#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <iostream>
#include <numeric>
#include <thread>

#include "chimera/comm/bytes_payload.h"
#include "chimera/exec/program.h"
#include "chimera/mpi/mpi_transport.h"
#include "chimera/mpi/session.h"
#include "tests/grid.h"
#include "tests/mpi/test_ranks.h"
#include "tests/training_cases.h"

namespace {

int highest_tag = 0;  // simulated limit; 0: MPI's own

bool is_refused(int tag) { return highest_tag > 0 && tag > highest_tag; }

}  // namespace

// Overrides of MPI functions through MPI's profiling interface.
extern "C" {

int MPI_Comm_get_attr(MPI_Comm comm, int key, void* value, int* flag) {
  if (key != MPI_TAG_UB || highest_tag == 0) {
    return PMPI_Comm_get_attr(comm, key, value, flag);
  }
  *static_cast<int**>(value) = &highest_tag;
  *flag = 1;
  return MPI_SUCCESS;
}

int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag,
              MPI_Comm comm, MPI_Request* request) {
  if (is_refused(tag)) return MPI_ERR_TAG;
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}

int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag,
              MPI_Comm comm, MPI_Request* request) {
  if (is_refused(tag)) return MPI_ERR_TAG;
  return PMPI_Irecv(data, count, type, from, tag, comm, request);
}

}  // extern "C"

namespace chimera {
namespace {

using testing::config_of;
using testing::expect_same_bits;
using testing::Extras;
using testing::Outcome;
using testing::outcome_of;
using testing::session;
using testing::setup_of;
using testing::transport_of;

void expect_as_in_threads(const RunConfig& config) {
  const std::unique_ptr<RunSetup> setup = setup_of(config);
  Outcome by_mpi;
  {
    const auto transport =
        transport_of(group_ranks(setup->schedule),
                     peer_ranks(setup->schedule, session->rank()));
    by_mpi = outcome_of(*setup, transport.get());
  }
  if (session->rank() == 0) expect_same_bits(by_mpi, outcome_of(*setup));
}

std::vector<ScheduleSpec> layouts_of_depth(int depth) {
  std::vector<ScheduleSpec> specs;
  for (const Scheme& scheme : schemes()) {
    std::vector<int> micros = {depth, 2 * depth};
    if (testing::full_grid()) micros.push_back(depth + 1);
    for (const ScheduleSpec& spec : testing::layouts(scheme, depth, micros)) {
      // Leaves out layouts with more stages than the model has layers, eight.
      if (resolve(spec)->chunks * depth <= 8) specs.push_back(spec);
    }
  }
  return specs;
}

// True if the scheme supports these options: asynchronous ones support fewer.
bool fits(const ScheduleSpec& spec, const Extras& extras) {
  return find_scheme(spec.scheme)->is_synchronous() || !extras.tied;
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
        if (number % 5 == 0) extras.precision = Precision::kBf16;
        SCOPED_TRACE(testing::text_of(spec) + testing::text_of(extras));
        RunConfig config = config_of(spec, extras);
        config.train.shard_update = number % 3 == 0;
        const bool may_clip = find_scheme(spec.scheme)->is_synchronous();
        config.train.clip = may_clip && number % 2 == 0 ? 0.5 : 0;
        expect_as_in_threads(config);
        ++run;
        if (HasFailure()) return;
      }
    }
  }
  if (session->rank() == 0) std::cout << run << " layouts\n";
}

// Training pauses for evaluations, whose messages have the same numbers.
TEST(Mpi, EvaluationsGiveTheBitsOfThreads) {
  RunConfig config = config_of({.scheme = "chimera",
                                .depth = session->size(),
                                .micros = session->size()},
                               {.tied = true, .sync = "eager-opt"});
  config.train.steps = 5;
  config.train.eval_every = 2;
  config.data.eval_path = config.data.path.at(0);
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

// Messages of 2 MB around a ring and a sum of 4 MB over all ranks, while the
// workers stay away from the transport: by the time they return, everything
// must have arrived.
TEST(Mpi, MessagesAndSumsMoveWhileTheWorkersCompute) {
  const int ranks = session->size();
  std::vector<int> all(ranks);
  std::iota(all.begin(), all.end(), 0);
  std::vector<int> others = all;
  std::erase(others, session->rank());
  const auto transport = transport_of({all}, others);
  const int next = (session->rank() + 1) % ranks;
  const int previous = (session->rank() + ranks - 1) % ranks;
  const MessageId message{};
  const CollectiveId sum{};

  std::vector<float> gradient(1'000'000, 1.0F);
  transport->post_receive(message, previous, empty_bytes(2'000'000));
  transport->send(message, next, empty_bytes(2'000'000)());
  transport->start_collective(sum, all, {gradient.data(), gradient.size()});
  std::this_thread::sleep_for(std::chrono::seconds(2));
  const Clock::time_point computed = Clock::now();

  EXPECT_LT(transport->receive(message, previous).span.end, computed);
  EXPECT_LT(transport->wait_collective(sum).end, computed);
  EXPECT_EQ(gradient.back(), static_cast<float>(ranks));
}

// Messages are received in another order than sent, so two with the same tag
// would be confused.
TEST(Mpi, MoreMessagesThanTags) {
  constexpr std::int64_t kMessages = 40;
  highest_tag = 9;
  const int peer = session->rank() ^ 1;
  {
    const auto transport = transport_of({}, {peer}, kMessages);
    for (std::int64_t index = kMessages; index-- > 0;) {
      transport->post_receive({index, 0}, peer, empty_bytes(sizeof index));
    }
    for (std::int64_t index = 0; index < kMessages; ++index) {
      transport->send({index, 0}, peer, to_payload(index));
    }
    for (std::int64_t index = 0; index < kMessages; ++index) {
      const Received received = transport->receive({index, 0}, peer);
      EXPECT_EQ(from_payload<std::int64_t>(*received.payload), index);
    }
  }
  highest_tag = 0;
}

}  // namespace
}  // namespace chimera

int main(int argc, char** argv) {
  return chimera::testing::run_ranks(argc, argv);
}
