// Ranks as processes with a test device each, started by mpirun -n 4: messages
// and sums through pinned memory, with the bits of the CPU, no report, and one
// host wait per step.
#include "chimera/exec/program.h"
#include "tests/device/device_training.h"
#include "tests/mpi/test_ranks.h"

namespace chimera {
namespace {

using testing::config_of;
using testing::DeviceTraining;
using testing::expect_same_bits;
using testing::Extras;
using ::testing::IsEmpty;
using testing::Outcome;
using testing::session;
using testing::setup_of;
using testing::test_device;
using testing::transport_of;

class DeviceRanks : public DeviceTraining {
 protected:
  Outcome train_here(const RunConfig& config) {
    const auto setup = setup_of(config);
    setup->devices.assign(setup->devices.size(), test_device());
    const auto transport =
        transport_of(group_ranks(setup->schedule),
                     peer_ranks(setup->schedule, session->rank()));
    return testing::outcome_of(*setup, transport.get());
  }
};

TEST_F(DeviceRanks, HaveTheBitsOfTheCpu) {
  struct Case {
    const char* scheme;
    Extras extras;
    bool shards = false;
    VoteMode vote = VoteMode::kWait;
  };
  for (const auto& [scheme, extras, shards, vote] :
       {Case{"chimera", {.tied = true, .dropout = true, .sync = "eager"}},
        Case{"chimera", {.kind = "bert"}, true},
        Case{"zb-v", {.kind = "llama"}},
        Case{"1f1b", {.recompute = true, .precision = Precision::kBf16}},
        Case{"pipedream-2bw", {.kind = "bert"}},
        Case{"chimera", {.kind = "llama"}, false, VoteMode::kLate}}) {
    RunConfig config =
        config_of({.scheme = scheme, .depth = 4, .micros = 4}, extras);
    config.train.steps = 3;
    config.train.shard_update = shards;
    if (vote == VoteMode::kLate) config.train.clip = 0.5;
    config.train.vote = vote;
    SCOPED_TRACE(scheme + text_of(extras));
    const Outcome here = train_here(config);
    if (session->rank() == 0) {
      expect_same_bits(here, outcome_of(*setup_of(config)));
    }
    EXPECT_THAT(checker.take_reports(), IsEmpty());
  }
}

TEST_F(DeviceRanks, WaitOncePerStep) {
  RunConfig config =
      config_of({.scheme = "chimera", .depth = 4, .micros = 8}, {});
  std::array<std::int64_t, 2> waits = {};
  for (const int steps : {2, 6}) {
    config.train.steps = steps;
    checker.reset_host_waits();
    (void)train_here(config);
    waits[steps == 6 ? 1 : 0] = checker.host_waits(0);
  }
  EXPECT_EQ(waits[1] - waits[0], 4);
  EXPECT_THAT(checker.take_reports(), IsEmpty());
}

}  // namespace
}  // namespace chimera

int main(int argc, char** argv) {
  return chimera::testing::run_ranks(argc, argv);
}
